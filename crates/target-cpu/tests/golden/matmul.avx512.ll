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
  %v15 = mul nsw i64 %v8, 2048
  %v16 = mul nsw i64 %v15, 4
  %v17 = getelementptr i8, ptr %v2, i64 %v16
  %v18 = mul nsw i64 %i12, 32
  %v19 = mul nsw i64 %v18, 4
  %v20 = getelementptr i8, ptr %v17, i64 %v19
  %v21 = mul nsw i64 %i12, 2048
  %v22 = mul nsw i64 %v21, 4
  %v23 = getelementptr i8, ptr %v4, i64 %v22
  %v24 = mul nsw i64 %v9, 32
  %v25 = mul nsw i64 %v24, 4
  %v26 = getelementptr i8, ptr %v23, i64 %v25
  %v27 = mul nsw i64 %i12, 4096
  %v28 = add nsw i64 %v27, 4160
  %v29 = getelementptr i8, ptr %arena, i64 %v28
  %v30 = mul nsw i64 %i12, 8
  %v31 = add nsw i64 %v30, 12352
  %v32 = getelementptr i8, ptr %arena, i64 %v31
  %v33 = load i64, ptr %v32, align 8
  %v34 = add nsw i64 %i12, 1
  %v35 = mul nsw i64 %v34, 66
  %v36 = add nsw i64 %v9, 1
  %v37 = add nsw i64 %v35, %v36
  %v38 = add nsw i64 %v37, 1
  %v39 = icmp eq i64 %v33, %v38
  br i1 %v39, label %kept40, label %pack40
pack40:
  call void @tw.pack.f32.f32.32k(ptr %v26, i64 256, i64 32, i64 32, i64 32, i64 32, ptr %v29, i64 4096)
  store i64 %v38, ptr %v32, align 8
  br label %kept40
kept40:
  %v41 = getelementptr i8, ptr %arena, i64 0
  call void @tw.dot.f32.12x32.rs256.ks4.k32.m32(ptr %v20, i64 3072, i64 256, i64 4, ptr %v29, i64 4096, i64 32, ptr %v41, i64 128, i64 32, i64 32, i1 %v14)
  br label %loop12.latch
loop12.latch:
  %i12.next = add nsw i64 %i12, 1
  br label %loop12
loop12.end:
  br label %loop42
loop42:
  %i42 = phi i64 [ 0, %loop12.end ], [ %i42.next, %loop42.latch ]
  %i42.more = icmp slt i64 %i42, 32
  br i1 %i42.more, label %loop42.body, label %loop42.end
loop42.body:
  br label %loop43
loop43:
  %i43 = phi i64 [ 0, %loop42.body ], [ %i43.next, %loop43.latch ]
  %i43.more = icmp slt i64 %i43, 32
  br i1 %i43.more, label %loop43.body, label %loop43.end
loop43.body:
  %v44 = mul nsw i64 %i42, 32
  %v45 = add nsw i64 %v44, %i43
  %v46 = mul nsw i64 %v45, 4
  %v47 = getelementptr i8, ptr %arena, i64 %v46
  %v48 = getelementptr float, ptr %v47, i64 0
  %v49 = load <16 x float>, ptr %v48, align 4
  %v50 = mul nsw i64 %v8, 32
  %v51 = mul nsw i64 %v9, 32
  %v52 = add nsw i64 %v50, %i42
  %v53 = mul nsw i64 %v52, 64
  %v54 = add nsw i64 %v51, %i43
  %v55 = add nsw i64 %v53, %v54
  %v56 = getelementptr float, ptr %v6, i64 %v55
  store <16 x float> %v49, ptr %v56, align 4
  br label %loop43.latch
loop43.latch:
  %i43.next = add nsw i64 %i43, 16
  br label %loop43
loop43.end:
  br label %loop42.latch
loop42.latch:
  %i42.next = add nsw i64 %i42, 1
  br label %loop42
loop42.end:
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  ret void
}

