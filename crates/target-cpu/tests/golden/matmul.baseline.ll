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
  call void @tw.pack.f32.f32.8k(ptr %v30, i64 256, i64 32, i64 32, i64 32, i64 32, ptr %v33, i64 1024)
  store i64 %v44, ptr %v36, align 8
  br label %kept46
kept46:
  %v47 = getelementptr i8, ptr %scratch, i64 0
  call void @tw.pack.f32.f32.4w(ptr %v22, i64 256, i64 32, i64 32, i64 32, i64 32, ptr %v47, i64 512)
  %v48 = getelementptr i8, ptr %arena, i64 0
  call void @tw.dot.f32.4x8.rs4.ks16.k32.m32(ptr %v47, i64 512, i64 4, i64 16, ptr %v33, i64 1024, i64 32, ptr %v48, i64 128, i64 32, i64 32, i1 %v14)
  br label %loop12.latch
loop12.latch:
  %i12.next = add nsw i64 %i12, 1
  br label %loop12
loop12.end:
  br label %loop49
loop49:
  %i49 = phi i64 [ 0, %loop12.end ], [ %i49.next, %loop49.latch ]
  %i49.more = icmp slt i64 %i49, 32
  br i1 %i49.more, label %loop49.body, label %loop49.end
loop49.body:
  br label %loop50
loop50:
  %i50 = phi i64 [ 0, %loop49.body ], [ %i50.next, %loop50.latch ]
  %i50.more = icmp slt i64 %i50, 32
  br i1 %i50.more, label %loop50.body, label %loop50.end
loop50.body:
  %v51 = mul nsw i64 %i49, 32
  %v52 = add nsw i64 %v51, %i50
  %v53 = mul nsw i64 %v52, 4
  %v54 = getelementptr i8, ptr %arena, i64 %v53
  %v55 = getelementptr float, ptr %v54, i64 0
  %v56 = load <4 x float>, ptr %v55, align 4
  %v57 = sext i32 %v10 to i64
  %v58 = mul nsw i64 %v57, 32
  %v59 = sext i32 %v11 to i64
  %v60 = mul nsw i64 %v59, 32
  %v61 = add nsw i64 %v58, %i49
  %v62 = mul nsw i64 %v61, 64
  %v63 = add nsw i64 %v60, %i50
  %v64 = add nsw i64 %v62, %v63
  %v65 = getelementptr float, ptr %v6, i64 %v64
  store <4 x float> %v56, ptr %v65, align 4
  br label %loop50.latch
loop50.latch:
  %i50.next = add nsw i64 %i50, 4
  br label %loop50
loop50.end:
  br label %loop49.latch
loop49.latch:
  %i49.next = add nsw i64 %i49, 1
  br label %loop49
loop49.end:
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  ret void
}

