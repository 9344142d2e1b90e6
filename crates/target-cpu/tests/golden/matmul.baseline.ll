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
  call void @tw.pack.f32.f32.8k(ptr %v26, i64 256, i64 32, i64 32, i64 32, i64 32, ptr %v29, i64 1024)
  store i64 %v38, ptr %v32, align 8
  br label %kept40
kept40:
  %v41 = getelementptr i8, ptr %scratch, i64 0
  call void @tw.pack.f32.f32.4w(ptr %v20, i64 256, i64 32, i64 32, i64 32, i64 32, ptr %v41, i64 512)
  %v42 = getelementptr i8, ptr %arena, i64 0
  call void @tw.dot.f32.4x8.rs4.ks16.k32.m32(ptr %v41, i64 512, i64 4, i64 16, ptr %v29, i64 1024, i64 32, ptr %v42, i64 128, i64 32, i64 32, i1 %v14)
  br label %loop12.latch
loop12.latch:
  %i12.next = add nsw i64 %i12, 1
  br label %loop12
loop12.end:
  br label %loop43
loop43:
  %i43 = phi i64 [ 0, %loop12.end ], [ %i43.next, %loop43.latch ]
  %i43.more = icmp slt i64 %i43, 32
  br i1 %i43.more, label %loop43.body, label %loop43.end
loop43.body:
  br label %loop44
loop44:
  %i44 = phi i64 [ 0, %loop43.body ], [ %i44.next, %loop44.latch ]
  %i44.more = icmp slt i64 %i44, 32
  br i1 %i44.more, label %loop44.body, label %loop44.end
loop44.body:
  %v45 = mul nsw i64 %i43, 32
  %v46 = add nsw i64 %v45, %i44
  %v47 = mul nsw i64 %v46, 4
  %v48 = getelementptr i8, ptr %arena, i64 %v47
  %v49 = getelementptr float, ptr %v48, i64 0
  %v50 = load <4 x float>, ptr %v49, align 4
  %v51 = mul nsw i64 %v8, 32
  %v52 = mul nsw i64 %v9, 32
  %v53 = add nsw i64 %v51, %i43
  %v54 = mul nsw i64 %v53, 64
  %v55 = add nsw i64 %v52, %i44
  %v56 = add nsw i64 %v54, %v55
  %v57 = getelementptr float, ptr %v6, i64 %v56
  store <4 x float> %v50, ptr %v57, align 4
  br label %loop44.latch
loop44.latch:
  %i44.next = add nsw i64 %i44, 4
  br label %loop44
loop44.end:
  br label %loop43.latch
loop43.latch:
  %i43.next = add nsw i64 %i43, 1
  br label %loop43
loop43.end:
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  ret void
}

