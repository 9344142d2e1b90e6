define void @tw_0_matmul(ptr noalias readonly %args, ptr noalias readonly %scalars, i64 %begin, i64 %end, ptr noalias %arena) {
entry:
  %scratch = getelementptr i8, ptr %arena, i64 12416
  %tags12352 = getelementptr i8, ptr %arena, i64 12352
  call void @llvm.memset.p0.i64(ptr %tags12352, i8 0, i64 16, i1 false)
  %v1 = getelementptr ptr, ptr %args, i64 0
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr ptr, ptr %args, i64 1
  %v4 = load ptr, ptr %v3, align 8
  %v5 = getelementptr ptr, ptr %args, i64 2
  %v6 = load ptr, ptr %v5, align 8
  br label %loop7
loop7:
  %i7 = phi i64 [ %begin, %entry ], [ %i7.next, %loop7.latch ]
  %i7.more = icmp slt i64 %i7, %end
  br i1 %i7.more, label %loop7.body, label %loop7.end
loop7.body:
  %v8 = urem i64 %i7, 2
  %v9 = udiv i64 %i7, 2
  %v10 = trunc i64 %v8 to i32
  %v11 = trunc i64 %v9 to i32
  br label %loop12
loop12:
  %i12 = phi i64 [ 0, %loop7.body ], [ %i12.next, %loop12.latch ]
  %i12.more = icmp slt i64 %i12, 2
  br i1 %i12.more, label %loop12.body, label %loop12.end
loop12.body:
  %v13 = trunc i64 %i12 to i32
  %v14 = icmp eq i64 %i12, 0
  %v15 = sext i32 %v10 to i64
  %v16 = mul nsw i64 %v15, 2048
  %v17 = mul nsw i64 %v16, 4
  %v18 = getelementptr i8, ptr %v2, i64 %v17
  %v19 = sext i32 %v13 to i64
  %v20 = mul nsw i64 %v19, 32
  %v21 = mul nsw i64 %v20, 4
  %v22 = getelementptr i8, ptr %v18, i64 %v21
  %v23 = sext i32 %v13 to i64
  %v24 = mul nsw i64 %v23, 2048
  %v25 = mul nsw i64 %v24, 4
  %v26 = getelementptr i8, ptr %v4, i64 %v25
  %v27 = sext i32 %v11 to i64
  %v28 = mul nsw i64 %v27, 32
  %v29 = mul nsw i64 %v28, 4
  %v30 = getelementptr i8, ptr %v26, i64 %v29
  %v31 = mul nsw i64 %i12, 4096
  %v32 = add nsw i64 %v31, 4160
  %v33 = getelementptr i8, ptr %arena, i64 %v32
  %v34 = mul nsw i64 %i12, 8
  %v35 = add nsw i64 %v34, 12352
  %v36 = getelementptr i8, ptr %arena, i64 %v35
  %v37 = load i64, ptr %v36, align 8
  %v38 = sext i32 %v13 to i64
  %v39 = add nsw i64 %v38, 1
  %v40 = sext i32 %v11 to i64
  %v41 = mul nsw i64 %v39, 66
  %v42 = add nsw i64 %v40, 1
  %v43 = add nsw i64 %v41, %v42
  %v44 = add nsw i64 %v43, 1
  %v45 = icmp eq i64 %v37, %v44
  br i1 %v45, label %kept46, label %pack46
pack46:
  call void @tw.pack.f32.f32.32k(ptr %v30, i64 256, i64 32, i64 32, i64 32, i64 32, ptr %v33, i64 4096)
  store i64 %v44, ptr %v36, align 8
  br label %kept46
kept46:
  %v47 = getelementptr i8, ptr %arena, i64 0
  call void @tw.dot.f32.12x32.rs256.ks4.k32.m32(ptr %v22, i64 3072, i64 256, i64 4, ptr %v33, i64 4096, i64 32, ptr %v47, i64 128, i64 32, i64 32, i1 %v14)
  br label %loop12.latch
loop12.latch:
  %i12.next = add nsw i64 %i12, 1
  br label %loop12
loop12.end:
  br label %loop48
loop48:
  %i48 = phi i64 [ 0, %loop12.end ], [ %i48.next, %loop48.latch ]
  %i48.more = icmp slt i64 %i48, 32
  br i1 %i48.more, label %loop48.body, label %loop48.end
loop48.body:
  br label %loop49
loop49:
  %i49 = phi i64 [ 0, %loop48.body ], [ %i49.next, %loop49.latch ]
  %i49.more = icmp slt i64 %i49, 32
  br i1 %i49.more, label %loop49.body, label %loop49.end
loop49.body:
  %v50 = mul nsw i64 %i48, 32
  %v51 = add nsw i64 %v50, %i49
  %v52 = mul nsw i64 %v51, 4
  %v53 = getelementptr i8, ptr %arena, i64 %v52
  %v54 = getelementptr float, ptr %v53, i64 0
  %v55 = load <16 x float>, ptr %v54, align 4
  %v56 = sext i32 %v10 to i64
  %v57 = mul nsw i64 %v56, 32
  %v58 = sext i32 %v11 to i64
  %v59 = mul nsw i64 %v58, 32
  %v60 = add nsw i64 %v57, %i48
  %v61 = mul nsw i64 %v60, 64
  %v62 = add nsw i64 %v59, %i49
  %v63 = add nsw i64 %v61, %v62
  %v64 = getelementptr float, ptr %v6, i64 %v63
  store <16 x float> %v55, ptr %v64, align 4
  br label %loop49.latch
loop49.latch:
  %i49.next = add nsw i64 %i49, 16
  br label %loop49
loop49.end:
  br label %loop48.latch
loop48.latch:
  %i48.next = add nsw i64 %i48, 1
  br label %loop48
loop48.end:
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  ret void
}

