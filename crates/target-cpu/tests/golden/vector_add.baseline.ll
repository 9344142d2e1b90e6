define void @tw_0_vector_add(ptr noalias readonly %args, ptr noalias readonly %scalars, i64 %begin, i64 %end, ptr noalias %arena) {
entry:
  %scratch = getelementptr i8, ptr %arena, i64 0
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
  %v8 = trunc i64 %i7 to i32
  %v9 = mul nsw i64 %i7, 256
  %v10 = sub i64 1000, %v9
  %v11 = call i64 @llvm.smax.i64(i64 %v10, i64 0)
  %v12 = call i64 @llvm.smin.i64(i64 %v11, i64 256)
  %v13 = mul nsw i64 %i7, 256
  %v14 = sub i64 1000, %v13
  %v15 = call i64 @llvm.smax.i64(i64 %v14, i64 0)
  %v16 = call i64 @llvm.smin.i64(i64 %v15, i64 256)
  %v17 = icmp eq i64 %v16, 256
  %v18 = mul nsw i64 %i7, 256
  %v19 = sub i64 1000, %v18
  %v20 = call i64 @llvm.smax.i64(i64 %v19, i64 0)
  %v21 = call i64 @llvm.smin.i64(i64 %v20, i64 256)
  %v22 = icmp eq i64 %v21, 256
  %v23 = and i1 %v17, %v22
  br i1 %v23, label %inside24, label %edge24
inside24:
  %v25 = and i64 %v12, -4
  %v26 = sub i64 %v12, %v25
  br label %loop27
loop27:
  %i27 = phi i64 [ 0, %inside24 ], [ %i27.next, %loop27.latch ]
  %i27.more = icmp slt i64 %i27, %v25
  br i1 %i27.more, label %loop27.body, label %loop27.end
loop27.body:
  %v28 = mul nsw i64 %i7, 256
  %v29 = add nsw i64 %v28, %i27
  %v30 = getelementptr float, ptr %v2, i64 %v29
  %v31 = load <4 x float>, ptr %v30, align 4
  %v32 = mul nsw i64 %i7, 256
  %v33 = add nsw i64 %v32, %i27
  %v34 = getelementptr float, ptr %v4, i64 %v33
  %v35 = load <4 x float>, ptr %v34, align 4
  %v36 = fadd contract <4 x float> %v31, %v35
  %v37 = mul nsw i64 %i7, 256
  %v38 = add nsw i64 %v37, %i27
  %v39 = getelementptr float, ptr %v6, i64 %v38
  store <4 x float> %v36, ptr %v39, align 4
  br label %loop27.latch
loop27.latch:
  %i27.next = add nsw i64 %i27, 4
  br label %loop27
loop27.end:
  %v41 = icmp sgt i64 %v26, 0
  br i1 %v41, label %tail40, label %whole40
tail40:
  %v42 = call i64 @llvm.smax.i64(i64 %v26, i64 0)
  %v43 = call i64 @llvm.smin.i64(i64 %v42, i64 4)
  %v44 = trunc i64 %v43 to i32
  %v45 = insertelement <4 x i32> poison, i32 %v44, i32 0
  %v46 = shufflevector <4 x i32> %v45, <4 x i32> poison, <4 x i32> zeroinitializer
  %v47 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v46
  %v48 = mul nsw i64 %i7, 256
  %v49 = add nsw i64 %v48, %v25
  %v50 = getelementptr float, ptr %v2, i64 %v49
  %v51 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v50, i32 4, <4 x i1> %v47, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v52 = mul nsw i64 %i7, 256
  %v53 = add nsw i64 %v52, %v25
  %v54 = getelementptr float, ptr %v4, i64 %v53
  %v55 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v54, i32 4, <4 x i1> %v47, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v56 = fadd contract <4 x float> %v51, %v55
  %v57 = mul nsw i64 %i7, 256
  %v58 = add nsw i64 %v57, %v25
  %v59 = getelementptr float, ptr %v6, i64 %v58
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v56, ptr %v59, i32 4, <4 x i1> %v47)
  br label %whole40
whole40:
  br label %joined24
edge24:
  %v60 = and i64 %v12, -4
  %v61 = sub i64 %v12, %v60
  br label %loop62
loop62:
  %i62 = phi i64 [ 0, %edge24 ], [ %i62.next, %loop62.latch ]
  %i62.more = icmp slt i64 %i62, %v60
  br i1 %i62.more, label %loop62.body, label %loop62.end
loop62.body:
  %v63 = mul nsw i64 %i7, 256
  %v64 = sub i64 1000, %v63
  %v65 = call i64 @llvm.smax.i64(i64 %v64, i64 0)
  %v66 = call i64 @llvm.smin.i64(i64 %v65, i64 256)
  %v67 = sub i64 %v66, %i62
  %v68 = call i64 @llvm.smax.i64(i64 %v67, i64 0)
  %v69 = call i64 @llvm.smin.i64(i64 %v68, i64 4)
  %v70 = trunc i64 %v69 to i32
  %v71 = insertelement <4 x i32> poison, i32 %v70, i32 0
  %v72 = shufflevector <4 x i32> %v71, <4 x i32> poison, <4 x i32> zeroinitializer
  %v73 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v72
  %v74 = mul nsw i64 %i7, 256
  %v75 = add nsw i64 %v74, %i62
  %v76 = getelementptr float, ptr %v2, i64 %v75
  %v77 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v76, i32 4, <4 x i1> %v73, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v78 = mul nsw i64 %i7, 256
  %v79 = sub i64 1000, %v78
  %v80 = call i64 @llvm.smax.i64(i64 %v79, i64 0)
  %v81 = call i64 @llvm.smin.i64(i64 %v80, i64 256)
  %v82 = sub i64 %v81, %i62
  %v83 = call i64 @llvm.smax.i64(i64 %v82, i64 0)
  %v84 = call i64 @llvm.smin.i64(i64 %v83, i64 4)
  %v85 = trunc i64 %v84 to i32
  %v86 = insertelement <4 x i32> poison, i32 %v85, i32 0
  %v87 = shufflevector <4 x i32> %v86, <4 x i32> poison, <4 x i32> zeroinitializer
  %v88 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v87
  %v89 = mul nsw i64 %i7, 256
  %v90 = add nsw i64 %v89, %i62
  %v91 = getelementptr float, ptr %v4, i64 %v90
  %v92 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v91, i32 4, <4 x i1> %v88, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v93 = fadd contract <4 x float> %v77, %v92
  %v94 = mul nsw i64 %i7, 256
  %v95 = add nsw i64 %v94, %i62
  %v96 = getelementptr float, ptr %v6, i64 %v95
  store <4 x float> %v93, ptr %v96, align 4
  br label %loop62.latch
loop62.latch:
  %i62.next = add nsw i64 %i62, 4
  br label %loop62
loop62.end:
  %v98 = icmp sgt i64 %v61, 0
  br i1 %v98, label %tail97, label %whole97
tail97:
  %v99 = call i64 @llvm.smax.i64(i64 %v61, i64 0)
  %v100 = call i64 @llvm.smin.i64(i64 %v99, i64 4)
  %v101 = trunc i64 %v100 to i32
  %v102 = insertelement <4 x i32> poison, i32 %v101, i32 0
  %v103 = shufflevector <4 x i32> %v102, <4 x i32> poison, <4 x i32> zeroinitializer
  %v104 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v103
  %v105 = mul nsw i64 %i7, 256
  %v106 = sub i64 1000, %v105
  %v107 = call i64 @llvm.smax.i64(i64 %v106, i64 0)
  %v108 = call i64 @llvm.smin.i64(i64 %v107, i64 256)
  %v109 = sub i64 %v108, %v60
  %v110 = call i64 @llvm.smax.i64(i64 %v109, i64 0)
  %v111 = call i64 @llvm.smin.i64(i64 %v110, i64 4)
  %v112 = trunc i64 %v111 to i32
  %v113 = insertelement <4 x i32> poison, i32 %v112, i32 0
  %v114 = shufflevector <4 x i32> %v113, <4 x i32> poison, <4 x i32> zeroinitializer
  %v115 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v114
  %v116 = and <4 x i1> %v104, %v115
  %v117 = mul nsw i64 %i7, 256
  %v118 = add nsw i64 %v117, %v60
  %v119 = getelementptr float, ptr %v2, i64 %v118
  %v120 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v119, i32 4, <4 x i1> %v116, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v121 = mul nsw i64 %i7, 256
  %v122 = sub i64 1000, %v121
  %v123 = call i64 @llvm.smax.i64(i64 %v122, i64 0)
  %v124 = call i64 @llvm.smin.i64(i64 %v123, i64 256)
  %v125 = sub i64 %v124, %v60
  %v126 = call i64 @llvm.smax.i64(i64 %v125, i64 0)
  %v127 = call i64 @llvm.smin.i64(i64 %v126, i64 4)
  %v128 = trunc i64 %v127 to i32
  %v129 = insertelement <4 x i32> poison, i32 %v128, i32 0
  %v130 = shufflevector <4 x i32> %v129, <4 x i32> poison, <4 x i32> zeroinitializer
  %v131 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v130
  %v132 = and <4 x i1> %v104, %v131
  %v133 = mul nsw i64 %i7, 256
  %v134 = add nsw i64 %v133, %v60
  %v135 = getelementptr float, ptr %v4, i64 %v134
  %v136 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v135, i32 4, <4 x i1> %v132, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v137 = fadd contract <4 x float> %v120, %v136
  %v138 = mul nsw i64 %i7, 256
  %v139 = add nsw i64 %v138, %v60
  %v140 = getelementptr float, ptr %v6, i64 %v139
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v137, ptr %v140, i32 4, <4 x i1> %v104)
  br label %whole97
whole97:
  br label %joined24
joined24:
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  ret void
}

