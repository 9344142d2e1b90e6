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
  %v9 = sext i32 %v8 to i64
  %v10 = mul nsw i64 %v9, 256
  %v11 = sub i64 1000, %v10
  %v12 = call i64 @llvm.smax.i64(i64 %v11, i64 0)
  %v13 = call i64 @llvm.smin.i64(i64 %v12, i64 256)
  %v14 = sext i32 %v8 to i64
  %v15 = mul nsw i64 %v14, 256
  %v16 = sub i64 1000, %v15
  %v17 = call i64 @llvm.smax.i64(i64 %v16, i64 0)
  %v18 = call i64 @llvm.smin.i64(i64 %v17, i64 256)
  %v19 = icmp eq i64 %v18, 256
  %v20 = sext i32 %v8 to i64
  %v21 = mul nsw i64 %v20, 256
  %v22 = sub i64 1000, %v21
  %v23 = call i64 @llvm.smax.i64(i64 %v22, i64 0)
  %v24 = call i64 @llvm.smin.i64(i64 %v23, i64 256)
  %v25 = icmp eq i64 %v24, 256
  %v26 = and i1 %v19, %v25
  br i1 %v26, label %inside27, label %edge27
inside27:
  %v28 = and i64 %v13, -4
  %v29 = sub i64 %v13, %v28
  br label %loop30
loop30:
  %i30 = phi i64 [ 0, %inside27 ], [ %i30.next, %loop30.latch ]
  %i30.more = icmp slt i64 %i30, %v28
  br i1 %i30.more, label %loop30.body, label %loop30.end
loop30.body:
  %v31 = sext i32 %v8 to i64
  %v32 = mul nsw i64 %v31, 256
  %v33 = add nsw i64 %v32, %i30
  %v34 = getelementptr float, ptr %v2, i64 %v33
  %v35 = load <4 x float>, ptr %v34, align 4
  %v36 = sext i32 %v8 to i64
  %v37 = mul nsw i64 %v36, 256
  %v38 = add nsw i64 %v37, %i30
  %v39 = getelementptr float, ptr %v4, i64 %v38
  %v40 = load <4 x float>, ptr %v39, align 4
  %v41 = fadd contract <4 x float> %v35, %v40
  %v42 = sext i32 %v8 to i64
  %v43 = mul nsw i64 %v42, 256
  %v44 = add nsw i64 %v43, %i30
  %v45 = getelementptr float, ptr %v6, i64 %v44
  store <4 x float> %v41, ptr %v45, align 4
  br label %loop30.latch
loop30.latch:
  %i30.next = add nsw i64 %i30, 4
  br label %loop30
loop30.end:
  %v47 = icmp sgt i64 %v29, 0
  br i1 %v47, label %tail46, label %whole46
tail46:
  %v48 = call i64 @llvm.smax.i64(i64 %v29, i64 0)
  %v49 = call i64 @llvm.smin.i64(i64 %v48, i64 4)
  %v50 = trunc i64 %v49 to i32
  %v51 = insertelement <4 x i32> poison, i32 %v50, i32 0
  %v52 = shufflevector <4 x i32> %v51, <4 x i32> poison, <4 x i32> zeroinitializer
  %v53 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v52
  %v54 = sext i32 %v8 to i64
  %v55 = mul nsw i64 %v54, 256
  %v56 = add nsw i64 %v55, %v28
  %v57 = getelementptr float, ptr %v2, i64 %v56
  %v58 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v57, i32 4, <4 x i1> %v53, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v59 = sext i32 %v8 to i64
  %v60 = mul nsw i64 %v59, 256
  %v61 = add nsw i64 %v60, %v28
  %v62 = getelementptr float, ptr %v4, i64 %v61
  %v63 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v62, i32 4, <4 x i1> %v53, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v64 = fadd contract <4 x float> %v58, %v63
  %v65 = sext i32 %v8 to i64
  %v66 = mul nsw i64 %v65, 256
  %v67 = add nsw i64 %v66, %v28
  %v68 = getelementptr float, ptr %v6, i64 %v67
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v64, ptr %v68, i32 4, <4 x i1> %v53)
  br label %whole46
whole46:
  br label %joined27
edge27:
  %v69 = and i64 %v13, -4
  %v70 = sub i64 %v13, %v69
  br label %loop71
loop71:
  %i71 = phi i64 [ 0, %edge27 ], [ %i71.next, %loop71.latch ]
  %i71.more = icmp slt i64 %i71, %v69
  br i1 %i71.more, label %loop71.body, label %loop71.end
loop71.body:
  %v72 = sext i32 %v8 to i64
  %v73 = mul nsw i64 %v72, 256
  %v74 = sub i64 1000, %v73
  %v75 = call i64 @llvm.smax.i64(i64 %v74, i64 0)
  %v76 = call i64 @llvm.smin.i64(i64 %v75, i64 256)
  %v77 = sub i64 %v76, %i71
  %v78 = call i64 @llvm.smax.i64(i64 %v77, i64 0)
  %v79 = call i64 @llvm.smin.i64(i64 %v78, i64 4)
  %v80 = trunc i64 %v79 to i32
  %v81 = insertelement <4 x i32> poison, i32 %v80, i32 0
  %v82 = shufflevector <4 x i32> %v81, <4 x i32> poison, <4 x i32> zeroinitializer
  %v83 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v82
  %v84 = sext i32 %v8 to i64
  %v85 = mul nsw i64 %v84, 256
  %v86 = add nsw i64 %v85, %i71
  %v87 = getelementptr float, ptr %v2, i64 %v86
  %v88 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v87, i32 4, <4 x i1> %v83, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v89 = sext i32 %v8 to i64
  %v90 = mul nsw i64 %v89, 256
  %v91 = sub i64 1000, %v90
  %v92 = call i64 @llvm.smax.i64(i64 %v91, i64 0)
  %v93 = call i64 @llvm.smin.i64(i64 %v92, i64 256)
  %v94 = sub i64 %v93, %i71
  %v95 = call i64 @llvm.smax.i64(i64 %v94, i64 0)
  %v96 = call i64 @llvm.smin.i64(i64 %v95, i64 4)
  %v97 = trunc i64 %v96 to i32
  %v98 = insertelement <4 x i32> poison, i32 %v97, i32 0
  %v99 = shufflevector <4 x i32> %v98, <4 x i32> poison, <4 x i32> zeroinitializer
  %v100 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v99
  %v101 = sext i32 %v8 to i64
  %v102 = mul nsw i64 %v101, 256
  %v103 = add nsw i64 %v102, %i71
  %v104 = getelementptr float, ptr %v4, i64 %v103
  %v105 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v104, i32 4, <4 x i1> %v100, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v106 = fadd contract <4 x float> %v88, %v105
  %v107 = sext i32 %v8 to i64
  %v108 = mul nsw i64 %v107, 256
  %v109 = add nsw i64 %v108, %i71
  %v110 = getelementptr float, ptr %v6, i64 %v109
  store <4 x float> %v106, ptr %v110, align 4
  br label %loop71.latch
loop71.latch:
  %i71.next = add nsw i64 %i71, 4
  br label %loop71
loop71.end:
  %v112 = icmp sgt i64 %v70, 0
  br i1 %v112, label %tail111, label %whole111
tail111:
  %v113 = call i64 @llvm.smax.i64(i64 %v70, i64 0)
  %v114 = call i64 @llvm.smin.i64(i64 %v113, i64 4)
  %v115 = trunc i64 %v114 to i32
  %v116 = insertelement <4 x i32> poison, i32 %v115, i32 0
  %v117 = shufflevector <4 x i32> %v116, <4 x i32> poison, <4 x i32> zeroinitializer
  %v118 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v117
  %v119 = sext i32 %v8 to i64
  %v120 = mul nsw i64 %v119, 256
  %v121 = sub i64 1000, %v120
  %v122 = call i64 @llvm.smax.i64(i64 %v121, i64 0)
  %v123 = call i64 @llvm.smin.i64(i64 %v122, i64 256)
  %v124 = sub i64 %v123, %v69
  %v125 = call i64 @llvm.smax.i64(i64 %v124, i64 0)
  %v126 = call i64 @llvm.smin.i64(i64 %v125, i64 4)
  %v127 = trunc i64 %v126 to i32
  %v128 = insertelement <4 x i32> poison, i32 %v127, i32 0
  %v129 = shufflevector <4 x i32> %v128, <4 x i32> poison, <4 x i32> zeroinitializer
  %v130 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v129
  %v131 = and <4 x i1> %v118, %v130
  %v132 = sext i32 %v8 to i64
  %v133 = mul nsw i64 %v132, 256
  %v134 = add nsw i64 %v133, %v69
  %v135 = getelementptr float, ptr %v2, i64 %v134
  %v136 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v135, i32 4, <4 x i1> %v131, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v137 = sext i32 %v8 to i64
  %v138 = mul nsw i64 %v137, 256
  %v139 = sub i64 1000, %v138
  %v140 = call i64 @llvm.smax.i64(i64 %v139, i64 0)
  %v141 = call i64 @llvm.smin.i64(i64 %v140, i64 256)
  %v142 = sub i64 %v141, %v69
  %v143 = call i64 @llvm.smax.i64(i64 %v142, i64 0)
  %v144 = call i64 @llvm.smin.i64(i64 %v143, i64 4)
  %v145 = trunc i64 %v144 to i32
  %v146 = insertelement <4 x i32> poison, i32 %v145, i32 0
  %v147 = shufflevector <4 x i32> %v146, <4 x i32> poison, <4 x i32> zeroinitializer
  %v148 = icmp slt <4 x i32> <i32 0, i32 1, i32 2, i32 3>, %v147
  %v149 = and <4 x i1> %v118, %v148
  %v150 = sext i32 %v8 to i64
  %v151 = mul nsw i64 %v150, 256
  %v152 = add nsw i64 %v151, %v69
  %v153 = getelementptr float, ptr %v4, i64 %v152
  %v154 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %v153, i32 4, <4 x i1> %v149, <4 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v155 = fadd contract <4 x float> %v136, %v154
  %v156 = sext i32 %v8 to i64
  %v157 = mul nsw i64 %v156, 256
  %v158 = add nsw i64 %v157, %v69
  %v159 = getelementptr float, ptr %v6, i64 %v158
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v155, ptr %v159, i32 4, <4 x i1> %v118)
  br label %whole111
whole111:
  br label %joined27
joined27:
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  ret void
}

