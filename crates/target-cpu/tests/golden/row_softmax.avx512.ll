define void @tw_0_row_softmax(ptr noalias readonly %args, ptr noalias readonly %scalars, i64 %begin, i64 %end, ptr noalias %arena) {
entry:
  %scratch = getelementptr i8, ptr %arena, i64 1984
  %v1 = getelementptr ptr, ptr %args, i64 0
  %v2 = load ptr, ptr %v1, align 8
  %v3 = getelementptr ptr, ptr %args, i64 1
  %v4 = load ptr, ptr %v3, align 8
  br label %loop5
loop5:
  %i5 = phi i64 [ %begin, %entry ], [ %i5.next, %loop5.latch ]
  %i5.more = icmp slt i64 %i5, %end
  br i1 %i5.more, label %loop5.body, label %loop5.end
loop5.body:
  %v6 = trunc i64 %i5 to i32
  br label %loop7
loop7:
  %i7 = phi i64 [ 0, %loop5.body ], [ %i7.next, %loop7.latch ]
  %i7.more = icmp slt i64 %i7, 4
  br i1 %i7.more, label %loop7.body, label %loop7.end
loop7.body:
  br label %loop8
loop8:
  %i8 = phi i64 [ 0, %loop7.body ], [ %i8.next, %loop8.latch ]
  %c8.0 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v18, %loop8.latch ]
  %c8.1 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v29, %loop8.latch ]
  %c8.2 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v40, %loop8.latch ]
  %c8.3 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v51, %loop8.latch ]
  %i8.more = icmp slt i64 %i8, 64
  br i1 %i8.more, label %loop8.body, label %loop8.end
loop8.body:
  %v9 = mul nsw i64 %i5, 4
  %v10 = add nsw i64 %v9, %i7
  %v11 = mul nsw i64 %v10, 100
  %v12 = add nsw i64 %v11, %i8
  %v13 = getelementptr float, ptr %v2, i64 %v12
  %v14 = load <16 x float>, ptr %v13, align 4
  %v15 = fcmp ogt <16 x float> %c8.0, %v14
  %v16 = select <16 x i1> %v15, <16 x float> %c8.0, <16 x float> %v14
  %v17 = fcmp uno <16 x float> %c8.0, %c8.0
  %v18 = select <16 x i1> %v17, <16 x float> %c8.0, <16 x float> %v16
  %v19 = add nsw i64 %i8, 16
  %v20 = mul nsw i64 %i5, 4
  %v21 = add nsw i64 %v20, %i7
  %v22 = mul nsw i64 %v21, 100
  %v23 = add nsw i64 %v22, %v19
  %v24 = getelementptr float, ptr %v2, i64 %v23
  %v25 = load <16 x float>, ptr %v24, align 4
  %v26 = fcmp ogt <16 x float> %c8.1, %v25
  %v27 = select <16 x i1> %v26, <16 x float> %c8.1, <16 x float> %v25
  %v28 = fcmp uno <16 x float> %c8.1, %c8.1
  %v29 = select <16 x i1> %v28, <16 x float> %c8.1, <16 x float> %v27
  %v30 = add nsw i64 %i8, 32
  %v31 = mul nsw i64 %i5, 4
  %v32 = add nsw i64 %v31, %i7
  %v33 = mul nsw i64 %v32, 100
  %v34 = add nsw i64 %v33, %v30
  %v35 = getelementptr float, ptr %v2, i64 %v34
  %v36 = load <16 x float>, ptr %v35, align 4
  %v37 = fcmp ogt <16 x float> %c8.2, %v36
  %v38 = select <16 x i1> %v37, <16 x float> %c8.2, <16 x float> %v36
  %v39 = fcmp uno <16 x float> %c8.2, %c8.2
  %v40 = select <16 x i1> %v39, <16 x float> %c8.2, <16 x float> %v38
  %v41 = add nsw i64 %i8, 48
  %v42 = mul nsw i64 %i5, 4
  %v43 = add nsw i64 %v42, %i7
  %v44 = mul nsw i64 %v43, 100
  %v45 = add nsw i64 %v44, %v41
  %v46 = getelementptr float, ptr %v2, i64 %v45
  %v47 = load <16 x float>, ptr %v46, align 4
  %v48 = fcmp ogt <16 x float> %c8.3, %v47
  %v49 = select <16 x i1> %v48, <16 x float> %c8.3, <16 x float> %v47
  %v50 = fcmp uno <16 x float> %c8.3, %c8.3
  %v51 = select <16 x i1> %v50, <16 x float> %c8.3, <16 x float> %v49
  br label %loop8.latch
loop8.latch:
  %i8.next = add nsw i64 %i8, 64
  br label %loop8
loop8.end:
  %v52 = fcmp ogt <16 x float> %c8.0, %c8.1
  %v53 = select <16 x i1> %v52, <16 x float> %c8.0, <16 x float> %c8.1
  %v54 = fcmp uno <16 x float> %c8.0, %c8.0
  %v55 = select <16 x i1> %v54, <16 x float> %c8.0, <16 x float> %v53
  %v56 = fcmp ogt <16 x float> %v55, %c8.2
  %v57 = select <16 x i1> %v56, <16 x float> %v55, <16 x float> %c8.2
  %v58 = fcmp uno <16 x float> %v55, %v55
  %v59 = select <16 x i1> %v58, <16 x float> %v55, <16 x float> %v57
  %v60 = fcmp ogt <16 x float> %v59, %c8.3
  %v61 = select <16 x i1> %v60, <16 x float> %v59, <16 x float> %c8.3
  %v62 = fcmp uno <16 x float> %v59, %v59
  %v63 = select <16 x i1> %v62, <16 x float> %v59, <16 x float> %v61
  br label %loop64
loop64:
  %i64 = phi i64 [ 64, %loop8.end ], [ %i64.next, %loop64.latch ]
  %c64.0 = phi <16 x float> [ %v63, %loop8.end ], [ %v74, %loop64.latch ]
  %i64.more = icmp slt i64 %i64, 96
  br i1 %i64.more, label %loop64.body, label %loop64.end
loop64.body:
  %v65 = mul nsw i64 %i5, 4
  %v66 = add nsw i64 %v65, %i7
  %v67 = mul nsw i64 %v66, 100
  %v68 = add nsw i64 %v67, %i64
  %v69 = getelementptr float, ptr %v2, i64 %v68
  %v70 = load <16 x float>, ptr %v69, align 4
  %v71 = fcmp ogt <16 x float> %c64.0, %v70
  %v72 = select <16 x i1> %v71, <16 x float> %c64.0, <16 x float> %v70
  %v73 = fcmp uno <16 x float> %c64.0, %c64.0
  %v74 = select <16 x i1> %v73, <16 x float> %c64.0, <16 x float> %v72
  br label %loop64.latch
loop64.latch:
  %i64.next = add nsw i64 %i64, 16
  br label %loop64
loop64.end:
  %v75 = mul nsw i64 %i5, 4
  %v76 = add nsw i64 %v75, %i7
  %v77 = mul nsw i64 %v76, 100
  %v78 = add nsw i64 %v77, 96
  %v79 = getelementptr float, ptr %v2, i64 %v78
  %v80 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v79, i32 4, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v81 = select <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> %v80, <16 x float> <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>
  %v82 = fcmp ogt <16 x float> %c64.0, %v81
  %v83 = select <16 x i1> %v82, <16 x float> %c64.0, <16 x float> %v81
  %v84 = fcmp uno <16 x float> %c64.0, %c64.0
  %v85 = select <16 x i1> %v84, <16 x float> %c64.0, <16 x float> %v83
  %v86 = shufflevector <16 x float> %v85, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v87 = fcmp ogt <16 x float> %v85, %v86
  %v88 = select <16 x i1> %v87, <16 x float> %v85, <16 x float> %v86
  %v89 = fcmp uno <16 x float> %v85, %v85
  %v90 = select <16 x i1> %v89, <16 x float> %v85, <16 x float> %v88
  %v91 = shufflevector <16 x float> %v90, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v92 = fcmp ogt <16 x float> %v90, %v91
  %v93 = select <16 x i1> %v92, <16 x float> %v90, <16 x float> %v91
  %v94 = fcmp uno <16 x float> %v90, %v90
  %v95 = select <16 x i1> %v94, <16 x float> %v90, <16 x float> %v93
  %v96 = shufflevector <16 x float> %v95, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v97 = fcmp ogt <16 x float> %v95, %v96
  %v98 = select <16 x i1> %v97, <16 x float> %v95, <16 x float> %v96
  %v99 = fcmp uno <16 x float> %v95, %v95
  %v100 = select <16 x i1> %v99, <16 x float> %v95, <16 x float> %v98
  %v101 = shufflevector <16 x float> %v100, <16 x float> poison, <16 x i32> <i32 1, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v102 = fcmp ogt <16 x float> %v100, %v101
  %v103 = select <16 x i1> %v102, <16 x float> %v100, <16 x float> %v101
  %v104 = fcmp uno <16 x float> %v100, %v100
  %v105 = select <16 x i1> %v104, <16 x float> %v100, <16 x float> %v103
  %v106 = mul nsw i64 %i7, 4
  %v107 = add nsw i64 %v106, 1856
  %v108 = getelementptr i8, ptr %arena, i64 %v107
  %v109 = getelementptr float, ptr %v108, i64 0
  %v110 = extractelement <16 x float> %v105, i32 0
  store float %v110, ptr %v109, align 4
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  br label %loop111
loop111:
  %i111 = phi i64 [ 0, %loop7.end ], [ %i111.next, %loop111.latch ]
  %i111.more = icmp slt i64 %i111, 4
  br i1 %i111.more, label %loop111.body, label %loop111.end
loop111.body:
  br label %loop112
loop112:
  %i112 = phi i64 [ 0, %loop111.body ], [ %i112.next, %loop112.latch ]
  %i112.more = icmp slt i64 %i112, 96
  br i1 %i112.more, label %loop112.body, label %loop112.end
loop112.body:
  %v113 = mul nsw i64 %i5, 4
  %v114 = add nsw i64 %v113, %i111
  %v115 = mul nsw i64 %v114, 100
  %v116 = add nsw i64 %v115, %i112
  %v117 = getelementptr float, ptr %v2, i64 %v116
  %v118 = load <16 x float>, ptr %v117, align 4
  %v119 = mul nsw i64 %i111, 4
  %v120 = add nsw i64 %v119, 1856
  %v121 = getelementptr i8, ptr %arena, i64 %v120
  %v122 = getelementptr float, ptr %v121, i64 0
  %v123 = load float, ptr %v122, align 4
  %v124 = insertelement <16 x float> poison, float %v123, i32 0
  %v125 = shufflevector <16 x float> %v124, <16 x float> poison, <16 x i32> zeroinitializer
  %v126 = fsub contract <16 x float> %v118, %v125
  %v127 = call <16 x float> @tw.exp.v16(<16 x float> %v126)
  %v128 = mul nsw i64 %i111, 112
  %v129 = add nsw i64 %v128, %i112
  %v130 = mul nsw i64 %v129, 4
  %v131 = getelementptr i8, ptr %arena, i64 %v130
  %v132 = getelementptr float, ptr %v131, i64 0
  store <16 x float> %v127, ptr %v132, align 4
  br label %loop112.latch
loop112.latch:
  %i112.next = add nsw i64 %i112, 16
  br label %loop112
loop112.end:
  %v133 = mul nsw i64 %i5, 4
  %v134 = add nsw i64 %v133, %i111
  %v135 = mul nsw i64 %v134, 100
  %v136 = add nsw i64 %v135, 96
  %v137 = getelementptr float, ptr %v2, i64 %v136
  %v138 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v137, i32 4, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v139 = mul nsw i64 %i111, 4
  %v140 = add nsw i64 %v139, 1856
  %v141 = getelementptr i8, ptr %arena, i64 %v140
  %v142 = getelementptr float, ptr %v141, i64 0
  %v143 = load float, ptr %v142, align 4
  %v144 = insertelement <16 x float> poison, float %v143, i32 0
  %v145 = shufflevector <16 x float> %v144, <16 x float> poison, <16 x i32> zeroinitializer
  %v146 = fsub contract <16 x float> %v138, %v145
  %v147 = call <16 x float> @tw.exp.v16(<16 x float> %v146)
  %v148 = mul nsw i64 %i111, 112
  %v149 = add nsw i64 %v148, 96
  %v150 = mul nsw i64 %v149, 4
  %v151 = getelementptr i8, ptr %arena, i64 %v150
  %v152 = getelementptr float, ptr %v151, i64 0
  store <16 x float> %v147, ptr %v152, align 4
  br label %loop111.latch
loop111.latch:
  %i111.next = add nsw i64 %i111, 1
  br label %loop111
loop111.end:
  br label %loop153
loop153:
  %i153 = phi i64 [ 0, %loop111.end ], [ %i153.next, %loop153.latch ]
  %i153.more = icmp slt i64 %i153, 4
  br i1 %i153.more, label %loop153.body, label %loop153.end
loop153.body:
  br label %loop154
loop154:
  %i154 = phi i64 [ 0, %loop153.body ], [ %i154.next, %loop154.latch ]
  %c154.0 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop153.body ], [ %v161, %loop154.latch ]
  %c154.1 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop153.body ], [ %v169, %loop154.latch ]
  %c154.2 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop153.body ], [ %v177, %loop154.latch ]
  %c154.3 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop153.body ], [ %v185, %loop154.latch ]
  %i154.more = icmp slt i64 %i154, 64
  br i1 %i154.more, label %loop154.body, label %loop154.end
loop154.body:
  %v155 = mul nsw i64 %i153, 112
  %v156 = add nsw i64 %v155, %i154
  %v157 = mul nsw i64 %v156, 4
  %v158 = getelementptr i8, ptr %arena, i64 %v157
  %v159 = getelementptr float, ptr %v158, i64 0
  %v160 = load <16 x float>, ptr %v159, align 4
  %v161 = fadd contract <16 x float> %c154.0, %v160
  %v162 = add nsw i64 %i154, 16
  %v163 = mul nsw i64 %i153, 112
  %v164 = add nsw i64 %v163, %v162
  %v165 = mul nsw i64 %v164, 4
  %v166 = getelementptr i8, ptr %arena, i64 %v165
  %v167 = getelementptr float, ptr %v166, i64 0
  %v168 = load <16 x float>, ptr %v167, align 4
  %v169 = fadd contract <16 x float> %c154.1, %v168
  %v170 = add nsw i64 %i154, 32
  %v171 = mul nsw i64 %i153, 112
  %v172 = add nsw i64 %v171, %v170
  %v173 = mul nsw i64 %v172, 4
  %v174 = getelementptr i8, ptr %arena, i64 %v173
  %v175 = getelementptr float, ptr %v174, i64 0
  %v176 = load <16 x float>, ptr %v175, align 4
  %v177 = fadd contract <16 x float> %c154.2, %v176
  %v178 = add nsw i64 %i154, 48
  %v179 = mul nsw i64 %i153, 112
  %v180 = add nsw i64 %v179, %v178
  %v181 = mul nsw i64 %v180, 4
  %v182 = getelementptr i8, ptr %arena, i64 %v181
  %v183 = getelementptr float, ptr %v182, i64 0
  %v184 = load <16 x float>, ptr %v183, align 4
  %v185 = fadd contract <16 x float> %c154.3, %v184
  br label %loop154.latch
loop154.latch:
  %i154.next = add nsw i64 %i154, 64
  br label %loop154
loop154.end:
  %v186 = fadd contract <16 x float> %c154.0, %c154.1
  %v187 = fadd contract <16 x float> %v186, %c154.2
  %v188 = fadd contract <16 x float> %v187, %c154.3
  br label %loop189
loop189:
  %i189 = phi i64 [ 64, %loop154.end ], [ %i189.next, %loop189.latch ]
  %c189.0 = phi <16 x float> [ %v188, %loop154.end ], [ %v196, %loop189.latch ]
  %i189.more = icmp slt i64 %i189, 96
  br i1 %i189.more, label %loop189.body, label %loop189.end
loop189.body:
  %v190 = mul nsw i64 %i153, 112
  %v191 = add nsw i64 %v190, %i189
  %v192 = mul nsw i64 %v191, 4
  %v193 = getelementptr i8, ptr %arena, i64 %v192
  %v194 = getelementptr float, ptr %v193, i64 0
  %v195 = load <16 x float>, ptr %v194, align 4
  %v196 = fadd contract <16 x float> %c189.0, %v195
  br label %loop189.latch
loop189.latch:
  %i189.next = add nsw i64 %i189, 16
  br label %loop189
loop189.end:
  %v197 = mul nsw i64 %i153, 112
  %v198 = add nsw i64 %v197, 96
  %v199 = mul nsw i64 %v198, 4
  %v200 = getelementptr i8, ptr %arena, i64 %v199
  %v201 = getelementptr float, ptr %v200, i64 0
  %v202 = load <16 x float>, ptr %v201, align 4
  %v203 = select <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> %v202, <16 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>
  %v204 = fadd contract <16 x float> %c189.0, %v203
  %v205 = shufflevector <16 x float> %v204, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v206 = fadd contract <16 x float> %v204, %v205
  %v207 = shufflevector <16 x float> %v206, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v208 = fadd contract <16 x float> %v206, %v207
  %v209 = shufflevector <16 x float> %v208, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v210 = fadd contract <16 x float> %v208, %v209
  %v211 = shufflevector <16 x float> %v210, <16 x float> poison, <16 x i32> <i32 1, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v212 = fadd contract <16 x float> %v210, %v211
  %v213 = mul nsw i64 %i153, 4
  %v214 = add nsw i64 %v213, 1856
  %v215 = getelementptr i8, ptr %arena, i64 %v214
  %v216 = getelementptr float, ptr %v215, i64 0
  %v217 = extractelement <16 x float> %v212, i32 0
  store float %v217, ptr %v216, align 4
  br label %loop153.latch
loop153.latch:
  %i153.next = add nsw i64 %i153, 1
  br label %loop153
loop153.end:
  br label %loop218
loop218:
  %i218 = phi i64 [ 0, %loop153.end ], [ %i218.next, %loop218.latch ]
  %i218.more = icmp slt i64 %i218, 4
  br i1 %i218.more, label %loop218.body, label %loop218.end
loop218.body:
  br label %loop219
loop219:
  %i219 = phi i64 [ 0, %loop218.body ], [ %i219.next, %loop219.latch ]
  %i219.more = icmp slt i64 %i219, 96
  br i1 %i219.more, label %loop219.body, label %loop219.end
loop219.body:
  %v220 = mul nsw i64 %i218, 112
  %v221 = add nsw i64 %v220, %i219
  %v222 = mul nsw i64 %v221, 4
  %v223 = getelementptr i8, ptr %arena, i64 %v222
  %v224 = getelementptr float, ptr %v223, i64 0
  %v225 = load <16 x float>, ptr %v224, align 4
  %v226 = mul nsw i64 %i218, 4
  %v227 = add nsw i64 %v226, 1856
  %v228 = getelementptr i8, ptr %arena, i64 %v227
  %v229 = getelementptr float, ptr %v228, i64 0
  %v230 = load float, ptr %v229, align 4
  %v231 = insertelement <16 x float> poison, float %v230, i32 0
  %v232 = shufflevector <16 x float> %v231, <16 x float> poison, <16 x i32> zeroinitializer
  %v233 = fdiv <16 x float> %v225, %v232
  %v234 = mul nsw i64 %i5, 4
  %v235 = add nsw i64 %v234, %i218
  %v236 = mul nsw i64 %v235, 100
  %v237 = add nsw i64 %v236, %i219
  %v238 = getelementptr float, ptr %v4, i64 %v237
  store <16 x float> %v233, ptr %v238, align 4
  br label %loop219.latch
loop219.latch:
  %i219.next = add nsw i64 %i219, 16
  br label %loop219
loop219.end:
  %v239 = mul nsw i64 %i218, 112
  %v240 = add nsw i64 %v239, 96
  %v241 = mul nsw i64 %v240, 4
  %v242 = getelementptr i8, ptr %arena, i64 %v241
  %v243 = getelementptr float, ptr %v242, i64 0
  %v244 = load <16 x float>, ptr %v243, align 4
  %v245 = mul nsw i64 %i218, 4
  %v246 = add nsw i64 %v245, 1856
  %v247 = getelementptr i8, ptr %arena, i64 %v246
  %v248 = getelementptr float, ptr %v247, i64 0
  %v249 = load float, ptr %v248, align 4
  %v250 = insertelement <16 x float> poison, float %v249, i32 0
  %v251 = shufflevector <16 x float> %v250, <16 x float> poison, <16 x i32> zeroinitializer
  %v252 = fdiv <16 x float> %v244, %v251
  %v253 = mul nsw i64 %i5, 4
  %v254 = add nsw i64 %v253, %i218
  %v255 = mul nsw i64 %v254, 100
  %v256 = add nsw i64 %v255, 96
  %v257 = getelementptr float, ptr %v4, i64 %v256
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v252, ptr %v257, i32 4, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  br label %loop218.latch
loop218.latch:
  %i218.next = add nsw i64 %i218, 1
  br label %loop218
loop218.end:
  br label %loop5.latch
loop5.latch:
  %i5.next = add nsw i64 %i5, 1
  br label %loop5
loop5.end:
  ret void
}

