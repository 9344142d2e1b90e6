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
  %c8.0 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v19, %loop8.latch ]
  %c8.1 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v31, %loop8.latch ]
  %c8.2 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v43, %loop8.latch ]
  %c8.3 = phi <16 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v55, %loop8.latch ]
  %i8.more = icmp slt i64 %i8, 64
  br i1 %i8.more, label %loop8.body, label %loop8.end
loop8.body:
  %v9 = sext i32 %v6 to i64
  %v10 = mul nsw i64 %v9, 4
  %v11 = add nsw i64 %v10, %i7
  %v12 = mul nsw i64 %v11, 100
  %v13 = add nsw i64 %v12, %i8
  %v14 = getelementptr float, ptr %v2, i64 %v13
  %v15 = load <16 x float>, ptr %v14, align 4
  %v16 = fcmp ogt <16 x float> %c8.0, %v15
  %v17 = select <16 x i1> %v16, <16 x float> %c8.0, <16 x float> %v15
  %v18 = fcmp uno <16 x float> %c8.0, %c8.0
  %v19 = select <16 x i1> %v18, <16 x float> %c8.0, <16 x float> %v17
  %v20 = add nsw i64 %i8, 16
  %v21 = sext i32 %v6 to i64
  %v22 = mul nsw i64 %v21, 4
  %v23 = add nsw i64 %v22, %i7
  %v24 = mul nsw i64 %v23, 100
  %v25 = add nsw i64 %v24, %v20
  %v26 = getelementptr float, ptr %v2, i64 %v25
  %v27 = load <16 x float>, ptr %v26, align 4
  %v28 = fcmp ogt <16 x float> %c8.1, %v27
  %v29 = select <16 x i1> %v28, <16 x float> %c8.1, <16 x float> %v27
  %v30 = fcmp uno <16 x float> %c8.1, %c8.1
  %v31 = select <16 x i1> %v30, <16 x float> %c8.1, <16 x float> %v29
  %v32 = add nsw i64 %i8, 32
  %v33 = sext i32 %v6 to i64
  %v34 = mul nsw i64 %v33, 4
  %v35 = add nsw i64 %v34, %i7
  %v36 = mul nsw i64 %v35, 100
  %v37 = add nsw i64 %v36, %v32
  %v38 = getelementptr float, ptr %v2, i64 %v37
  %v39 = load <16 x float>, ptr %v38, align 4
  %v40 = fcmp ogt <16 x float> %c8.2, %v39
  %v41 = select <16 x i1> %v40, <16 x float> %c8.2, <16 x float> %v39
  %v42 = fcmp uno <16 x float> %c8.2, %c8.2
  %v43 = select <16 x i1> %v42, <16 x float> %c8.2, <16 x float> %v41
  %v44 = add nsw i64 %i8, 48
  %v45 = sext i32 %v6 to i64
  %v46 = mul nsw i64 %v45, 4
  %v47 = add nsw i64 %v46, %i7
  %v48 = mul nsw i64 %v47, 100
  %v49 = add nsw i64 %v48, %v44
  %v50 = getelementptr float, ptr %v2, i64 %v49
  %v51 = load <16 x float>, ptr %v50, align 4
  %v52 = fcmp ogt <16 x float> %c8.3, %v51
  %v53 = select <16 x i1> %v52, <16 x float> %c8.3, <16 x float> %v51
  %v54 = fcmp uno <16 x float> %c8.3, %c8.3
  %v55 = select <16 x i1> %v54, <16 x float> %c8.3, <16 x float> %v53
  br label %loop8.latch
loop8.latch:
  %i8.next = add nsw i64 %i8, 64
  br label %loop8
loop8.end:
  %v56 = fcmp ogt <16 x float> %c8.0, %c8.1
  %v57 = select <16 x i1> %v56, <16 x float> %c8.0, <16 x float> %c8.1
  %v58 = fcmp uno <16 x float> %c8.0, %c8.0
  %v59 = select <16 x i1> %v58, <16 x float> %c8.0, <16 x float> %v57
  %v60 = fcmp ogt <16 x float> %v59, %c8.2
  %v61 = select <16 x i1> %v60, <16 x float> %v59, <16 x float> %c8.2
  %v62 = fcmp uno <16 x float> %v59, %v59
  %v63 = select <16 x i1> %v62, <16 x float> %v59, <16 x float> %v61
  %v64 = fcmp ogt <16 x float> %v63, %c8.3
  %v65 = select <16 x i1> %v64, <16 x float> %v63, <16 x float> %c8.3
  %v66 = fcmp uno <16 x float> %v63, %v63
  %v67 = select <16 x i1> %v66, <16 x float> %v63, <16 x float> %v65
  br label %loop68
loop68:
  %i68 = phi i64 [ 64, %loop8.end ], [ %i68.next, %loop68.latch ]
  %c68.0 = phi <16 x float> [ %v67, %loop8.end ], [ %v79, %loop68.latch ]
  %i68.more = icmp slt i64 %i68, 96
  br i1 %i68.more, label %loop68.body, label %loop68.end
loop68.body:
  %v69 = sext i32 %v6 to i64
  %v70 = mul nsw i64 %v69, 4
  %v71 = add nsw i64 %v70, %i7
  %v72 = mul nsw i64 %v71, 100
  %v73 = add nsw i64 %v72, %i68
  %v74 = getelementptr float, ptr %v2, i64 %v73
  %v75 = load <16 x float>, ptr %v74, align 4
  %v76 = fcmp ogt <16 x float> %c68.0, %v75
  %v77 = select <16 x i1> %v76, <16 x float> %c68.0, <16 x float> %v75
  %v78 = fcmp uno <16 x float> %c68.0, %c68.0
  %v79 = select <16 x i1> %v78, <16 x float> %c68.0, <16 x float> %v77
  br label %loop68.latch
loop68.latch:
  %i68.next = add nsw i64 %i68, 16
  br label %loop68
loop68.end:
  %v80 = sext i32 %v6 to i64
  %v81 = mul nsw i64 %v80, 4
  %v82 = add nsw i64 %v81, %i7
  %v83 = mul nsw i64 %v82, 100
  %v84 = add nsw i64 %v83, 96
  %v85 = getelementptr float, ptr %v2, i64 %v84
  %v86 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v85, i32 4, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v87 = select <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> %v86, <16 x float> <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>
  %v88 = fcmp ogt <16 x float> %c68.0, %v87
  %v89 = select <16 x i1> %v88, <16 x float> %c68.0, <16 x float> %v87
  %v90 = fcmp uno <16 x float> %c68.0, %c68.0
  %v91 = select <16 x i1> %v90, <16 x float> %c68.0, <16 x float> %v89
  %v92 = shufflevector <16 x float> %v91, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v93 = fcmp ogt <16 x float> %v91, %v92
  %v94 = select <16 x i1> %v93, <16 x float> %v91, <16 x float> %v92
  %v95 = fcmp uno <16 x float> %v91, %v91
  %v96 = select <16 x i1> %v95, <16 x float> %v91, <16 x float> %v94
  %v97 = shufflevector <16 x float> %v96, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v98 = fcmp ogt <16 x float> %v96, %v97
  %v99 = select <16 x i1> %v98, <16 x float> %v96, <16 x float> %v97
  %v100 = fcmp uno <16 x float> %v96, %v96
  %v101 = select <16 x i1> %v100, <16 x float> %v96, <16 x float> %v99
  %v102 = shufflevector <16 x float> %v101, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v103 = fcmp ogt <16 x float> %v101, %v102
  %v104 = select <16 x i1> %v103, <16 x float> %v101, <16 x float> %v102
  %v105 = fcmp uno <16 x float> %v101, %v101
  %v106 = select <16 x i1> %v105, <16 x float> %v101, <16 x float> %v104
  %v107 = shufflevector <16 x float> %v106, <16 x float> poison, <16 x i32> <i32 1, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v108 = fcmp ogt <16 x float> %v106, %v107
  %v109 = select <16 x i1> %v108, <16 x float> %v106, <16 x float> %v107
  %v110 = fcmp uno <16 x float> %v106, %v106
  %v111 = select <16 x i1> %v110, <16 x float> %v106, <16 x float> %v109
  %v112 = mul nsw i64 %i7, 4
  %v113 = add nsw i64 %v112, 1856
  %v114 = getelementptr i8, ptr %arena, i64 %v113
  %v115 = getelementptr float, ptr %v114, i64 0
  %v116 = extractelement <16 x float> %v111, i32 0
  store float %v116, ptr %v115, align 4
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  br label %loop117
loop117:
  %i117 = phi i64 [ 0, %loop7.end ], [ %i117.next, %loop117.latch ]
  %i117.more = icmp slt i64 %i117, 4
  br i1 %i117.more, label %loop117.body, label %loop117.end
loop117.body:
  br label %loop118
loop118:
  %i118 = phi i64 [ 0, %loop117.body ], [ %i118.next, %loop118.latch ]
  %i118.more = icmp slt i64 %i118, 96
  br i1 %i118.more, label %loop118.body, label %loop118.end
loop118.body:
  %v119 = sext i32 %v6 to i64
  %v120 = mul nsw i64 %v119, 4
  %v121 = add nsw i64 %v120, %i117
  %v122 = mul nsw i64 %v121, 100
  %v123 = add nsw i64 %v122, %i118
  %v124 = getelementptr float, ptr %v2, i64 %v123
  %v125 = load <16 x float>, ptr %v124, align 4
  %v126 = mul nsw i64 %i117, 4
  %v127 = add nsw i64 %v126, 1856
  %v128 = getelementptr i8, ptr %arena, i64 %v127
  %v129 = getelementptr float, ptr %v128, i64 0
  %v130 = load float, ptr %v129, align 4
  %v131 = insertelement <16 x float> poison, float %v130, i32 0
  %v132 = shufflevector <16 x float> %v131, <16 x float> poison, <16 x i32> zeroinitializer
  %v133 = fsub contract <16 x float> %v125, %v132
  %v134 = call <16 x float> @tw.exp.v16(<16 x float> %v133)
  %v135 = mul nsw i64 %i117, 112
  %v136 = add nsw i64 %v135, %i118
  %v137 = mul nsw i64 %v136, 4
  %v138 = getelementptr i8, ptr %arena, i64 %v137
  %v139 = getelementptr float, ptr %v138, i64 0
  store <16 x float> %v134, ptr %v139, align 4
  br label %loop118.latch
loop118.latch:
  %i118.next = add nsw i64 %i118, 16
  br label %loop118
loop118.end:
  %v140 = sext i32 %v6 to i64
  %v141 = mul nsw i64 %v140, 4
  %v142 = add nsw i64 %v141, %i117
  %v143 = mul nsw i64 %v142, 100
  %v144 = add nsw i64 %v143, 96
  %v145 = getelementptr float, ptr %v2, i64 %v144
  %v146 = call <16 x float> @llvm.masked.load.v16f32.p0(ptr %v145, i32 4, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>)
  %v147 = mul nsw i64 %i117, 4
  %v148 = add nsw i64 %v147, 1856
  %v149 = getelementptr i8, ptr %arena, i64 %v148
  %v150 = getelementptr float, ptr %v149, i64 0
  %v151 = load float, ptr %v150, align 4
  %v152 = insertelement <16 x float> poison, float %v151, i32 0
  %v153 = shufflevector <16 x float> %v152, <16 x float> poison, <16 x i32> zeroinitializer
  %v154 = fsub contract <16 x float> %v146, %v153
  %v155 = call <16 x float> @tw.exp.v16(<16 x float> %v154)
  %v156 = mul nsw i64 %i117, 112
  %v157 = add nsw i64 %v156, 96
  %v158 = mul nsw i64 %v157, 4
  %v159 = getelementptr i8, ptr %arena, i64 %v158
  %v160 = getelementptr float, ptr %v159, i64 0
  store <16 x float> %v155, ptr %v160, align 4
  br label %loop117.latch
loop117.latch:
  %i117.next = add nsw i64 %i117, 1
  br label %loop117
loop117.end:
  br label %loop161
loop161:
  %i161 = phi i64 [ 0, %loop117.end ], [ %i161.next, %loop161.latch ]
  %i161.more = icmp slt i64 %i161, 4
  br i1 %i161.more, label %loop161.body, label %loop161.end
loop161.body:
  br label %loop162
loop162:
  %i162 = phi i64 [ 0, %loop161.body ], [ %i162.next, %loop162.latch ]
  %c162.0 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop161.body ], [ %v169, %loop162.latch ]
  %c162.1 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop161.body ], [ %v177, %loop162.latch ]
  %c162.2 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop161.body ], [ %v185, %loop162.latch ]
  %c162.3 = phi <16 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop161.body ], [ %v193, %loop162.latch ]
  %i162.more = icmp slt i64 %i162, 64
  br i1 %i162.more, label %loop162.body, label %loop162.end
loop162.body:
  %v163 = mul nsw i64 %i161, 112
  %v164 = add nsw i64 %v163, %i162
  %v165 = mul nsw i64 %v164, 4
  %v166 = getelementptr i8, ptr %arena, i64 %v165
  %v167 = getelementptr float, ptr %v166, i64 0
  %v168 = load <16 x float>, ptr %v167, align 4
  %v169 = fadd contract <16 x float> %c162.0, %v168
  %v170 = add nsw i64 %i162, 16
  %v171 = mul nsw i64 %i161, 112
  %v172 = add nsw i64 %v171, %v170
  %v173 = mul nsw i64 %v172, 4
  %v174 = getelementptr i8, ptr %arena, i64 %v173
  %v175 = getelementptr float, ptr %v174, i64 0
  %v176 = load <16 x float>, ptr %v175, align 4
  %v177 = fadd contract <16 x float> %c162.1, %v176
  %v178 = add nsw i64 %i162, 32
  %v179 = mul nsw i64 %i161, 112
  %v180 = add nsw i64 %v179, %v178
  %v181 = mul nsw i64 %v180, 4
  %v182 = getelementptr i8, ptr %arena, i64 %v181
  %v183 = getelementptr float, ptr %v182, i64 0
  %v184 = load <16 x float>, ptr %v183, align 4
  %v185 = fadd contract <16 x float> %c162.2, %v184
  %v186 = add nsw i64 %i162, 48
  %v187 = mul nsw i64 %i161, 112
  %v188 = add nsw i64 %v187, %v186
  %v189 = mul nsw i64 %v188, 4
  %v190 = getelementptr i8, ptr %arena, i64 %v189
  %v191 = getelementptr float, ptr %v190, i64 0
  %v192 = load <16 x float>, ptr %v191, align 4
  %v193 = fadd contract <16 x float> %c162.3, %v192
  br label %loop162.latch
loop162.latch:
  %i162.next = add nsw i64 %i162, 64
  br label %loop162
loop162.end:
  %v194 = fadd contract <16 x float> %c162.0, %c162.1
  %v195 = fadd contract <16 x float> %v194, %c162.2
  %v196 = fadd contract <16 x float> %v195, %c162.3
  br label %loop197
loop197:
  %i197 = phi i64 [ 64, %loop162.end ], [ %i197.next, %loop197.latch ]
  %c197.0 = phi <16 x float> [ %v196, %loop162.end ], [ %v204, %loop197.latch ]
  %i197.more = icmp slt i64 %i197, 96
  br i1 %i197.more, label %loop197.body, label %loop197.end
loop197.body:
  %v198 = mul nsw i64 %i161, 112
  %v199 = add nsw i64 %v198, %i197
  %v200 = mul nsw i64 %v199, 4
  %v201 = getelementptr i8, ptr %arena, i64 %v200
  %v202 = getelementptr float, ptr %v201, i64 0
  %v203 = load <16 x float>, ptr %v202, align 4
  %v204 = fadd contract <16 x float> %c197.0, %v203
  br label %loop197.latch
loop197.latch:
  %i197.next = add nsw i64 %i197, 16
  br label %loop197
loop197.end:
  %v205 = mul nsw i64 %i161, 112
  %v206 = add nsw i64 %v205, 96
  %v207 = mul nsw i64 %v206, 4
  %v208 = getelementptr i8, ptr %arena, i64 %v207
  %v209 = getelementptr float, ptr %v208, i64 0
  %v210 = load <16 x float>, ptr %v209, align 4
  %v211 = select <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <16 x float> %v210, <16 x float> <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>
  %v212 = fadd contract <16 x float> %c197.0, %v211
  %v213 = shufflevector <16 x float> %v212, <16 x float> poison, <16 x i32> <i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v214 = fadd contract <16 x float> %v212, %v213
  %v215 = shufflevector <16 x float> %v214, <16 x float> poison, <16 x i32> <i32 4, i32 5, i32 6, i32 7, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v216 = fadd contract <16 x float> %v214, %v215
  %v217 = shufflevector <16 x float> %v216, <16 x float> poison, <16 x i32> <i32 2, i32 3, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v218 = fadd contract <16 x float> %v216, %v217
  %v219 = shufflevector <16 x float> %v218, <16 x float> poison, <16 x i32> <i32 1, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %v220 = fadd contract <16 x float> %v218, %v219
  %v221 = mul nsw i64 %i161, 4
  %v222 = add nsw i64 %v221, 1856
  %v223 = getelementptr i8, ptr %arena, i64 %v222
  %v224 = getelementptr float, ptr %v223, i64 0
  %v225 = extractelement <16 x float> %v220, i32 0
  store float %v225, ptr %v224, align 4
  br label %loop161.latch
loop161.latch:
  %i161.next = add nsw i64 %i161, 1
  br label %loop161
loop161.end:
  br label %loop226
loop226:
  %i226 = phi i64 [ 0, %loop161.end ], [ %i226.next, %loop226.latch ]
  %i226.more = icmp slt i64 %i226, 4
  br i1 %i226.more, label %loop226.body, label %loop226.end
loop226.body:
  br label %loop227
loop227:
  %i227 = phi i64 [ 0, %loop226.body ], [ %i227.next, %loop227.latch ]
  %i227.more = icmp slt i64 %i227, 96
  br i1 %i227.more, label %loop227.body, label %loop227.end
loop227.body:
  %v228 = mul nsw i64 %i226, 112
  %v229 = add nsw i64 %v228, %i227
  %v230 = mul nsw i64 %v229, 4
  %v231 = getelementptr i8, ptr %arena, i64 %v230
  %v232 = getelementptr float, ptr %v231, i64 0
  %v233 = load <16 x float>, ptr %v232, align 4
  %v234 = mul nsw i64 %i226, 4
  %v235 = add nsw i64 %v234, 1856
  %v236 = getelementptr i8, ptr %arena, i64 %v235
  %v237 = getelementptr float, ptr %v236, i64 0
  %v238 = load float, ptr %v237, align 4
  %v239 = insertelement <16 x float> poison, float %v238, i32 0
  %v240 = shufflevector <16 x float> %v239, <16 x float> poison, <16 x i32> zeroinitializer
  %v241 = fdiv <16 x float> %v233, %v240
  %v242 = sext i32 %v6 to i64
  %v243 = mul nsw i64 %v242, 4
  %v244 = add nsw i64 %v243, %i226
  %v245 = mul nsw i64 %v244, 100
  %v246 = add nsw i64 %v245, %i227
  %v247 = getelementptr float, ptr %v4, i64 %v246
  store <16 x float> %v241, ptr %v247, align 4
  br label %loop227.latch
loop227.latch:
  %i227.next = add nsw i64 %i227, 16
  br label %loop227
loop227.end:
  %v248 = mul nsw i64 %i226, 112
  %v249 = add nsw i64 %v248, 96
  %v250 = mul nsw i64 %v249, 4
  %v251 = getelementptr i8, ptr %arena, i64 %v250
  %v252 = getelementptr float, ptr %v251, i64 0
  %v253 = load <16 x float>, ptr %v252, align 4
  %v254 = mul nsw i64 %i226, 4
  %v255 = add nsw i64 %v254, 1856
  %v256 = getelementptr i8, ptr %arena, i64 %v255
  %v257 = getelementptr float, ptr %v256, i64 0
  %v258 = load float, ptr %v257, align 4
  %v259 = insertelement <16 x float> poison, float %v258, i32 0
  %v260 = shufflevector <16 x float> %v259, <16 x float> poison, <16 x i32> zeroinitializer
  %v261 = fdiv <16 x float> %v253, %v260
  %v262 = sext i32 %v6 to i64
  %v263 = mul nsw i64 %v262, 4
  %v264 = add nsw i64 %v263, %i226
  %v265 = mul nsw i64 %v264, 100
  %v266 = add nsw i64 %v265, 96
  %v267 = getelementptr float, ptr %v4, i64 %v266
  call void @llvm.masked.store.v16f32.p0(<16 x float> %v261, ptr %v267, i32 4, <16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>)
  br label %loop226.latch
loop226.latch:
  %i226.next = add nsw i64 %i226, 1
  br label %loop226
loop226.end:
  br label %loop5.latch
loop5.latch:
  %i5.next = add nsw i64 %i5, 1
  br label %loop5
loop5.end:
  ret void
}

