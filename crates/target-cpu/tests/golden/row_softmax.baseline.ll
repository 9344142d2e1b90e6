define void @tw_0_row_softmax(ptr noalias readonly %args, ptr noalias readonly %scalars, i64 %begin, i64 %end, ptr noalias %arena) {
entry:
  %scratch = getelementptr i8, ptr %arena, i64 1728
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
  %c8.0 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v19, %loop8.latch ]
  %c8.1 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v31, %loop8.latch ]
  %c8.2 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v43, %loop8.latch ]
  %c8.3 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v55, %loop8.latch ]
  %i8.more = icmp slt i64 %i8, 96
  br i1 %i8.more, label %loop8.body, label %loop8.end
loop8.body:
  %v9 = sext i32 %v6 to i64
  %v10 = mul nsw i64 %v9, 4
  %v11 = add nsw i64 %v10, %i7
  %v12 = mul nsw i64 %v11, 100
  %v13 = add nsw i64 %v12, %i8
  %v14 = getelementptr float, ptr %v2, i64 %v13
  %v15 = load <4 x float>, ptr %v14, align 4
  %v16 = fcmp ogt <4 x float> %c8.0, %v15
  %v17 = select <4 x i1> %v16, <4 x float> %c8.0, <4 x float> %v15
  %v18 = fcmp uno <4 x float> %c8.0, %c8.0
  %v19 = select <4 x i1> %v18, <4 x float> %c8.0, <4 x float> %v17
  %v20 = add nsw i64 %i8, 4
  %v21 = sext i32 %v6 to i64
  %v22 = mul nsw i64 %v21, 4
  %v23 = add nsw i64 %v22, %i7
  %v24 = mul nsw i64 %v23, 100
  %v25 = add nsw i64 %v24, %v20
  %v26 = getelementptr float, ptr %v2, i64 %v25
  %v27 = load <4 x float>, ptr %v26, align 4
  %v28 = fcmp ogt <4 x float> %c8.1, %v27
  %v29 = select <4 x i1> %v28, <4 x float> %c8.1, <4 x float> %v27
  %v30 = fcmp uno <4 x float> %c8.1, %c8.1
  %v31 = select <4 x i1> %v30, <4 x float> %c8.1, <4 x float> %v29
  %v32 = add nsw i64 %i8, 8
  %v33 = sext i32 %v6 to i64
  %v34 = mul nsw i64 %v33, 4
  %v35 = add nsw i64 %v34, %i7
  %v36 = mul nsw i64 %v35, 100
  %v37 = add nsw i64 %v36, %v32
  %v38 = getelementptr float, ptr %v2, i64 %v37
  %v39 = load <4 x float>, ptr %v38, align 4
  %v40 = fcmp ogt <4 x float> %c8.2, %v39
  %v41 = select <4 x i1> %v40, <4 x float> %c8.2, <4 x float> %v39
  %v42 = fcmp uno <4 x float> %c8.2, %c8.2
  %v43 = select <4 x i1> %v42, <4 x float> %c8.2, <4 x float> %v41
  %v44 = add nsw i64 %i8, 12
  %v45 = sext i32 %v6 to i64
  %v46 = mul nsw i64 %v45, 4
  %v47 = add nsw i64 %v46, %i7
  %v48 = mul nsw i64 %v47, 100
  %v49 = add nsw i64 %v48, %v44
  %v50 = getelementptr float, ptr %v2, i64 %v49
  %v51 = load <4 x float>, ptr %v50, align 4
  %v52 = fcmp ogt <4 x float> %c8.3, %v51
  %v53 = select <4 x i1> %v52, <4 x float> %c8.3, <4 x float> %v51
  %v54 = fcmp uno <4 x float> %c8.3, %c8.3
  %v55 = select <4 x i1> %v54, <4 x float> %c8.3, <4 x float> %v53
  br label %loop8.latch
loop8.latch:
  %i8.next = add nsw i64 %i8, 16
  br label %loop8
loop8.end:
  %v56 = fcmp ogt <4 x float> %c8.0, %c8.1
  %v57 = select <4 x i1> %v56, <4 x float> %c8.0, <4 x float> %c8.1
  %v58 = fcmp uno <4 x float> %c8.0, %c8.0
  %v59 = select <4 x i1> %v58, <4 x float> %c8.0, <4 x float> %v57
  %v60 = fcmp ogt <4 x float> %v59, %c8.2
  %v61 = select <4 x i1> %v60, <4 x float> %v59, <4 x float> %c8.2
  %v62 = fcmp uno <4 x float> %v59, %v59
  %v63 = select <4 x i1> %v62, <4 x float> %v59, <4 x float> %v61
  %v64 = fcmp ogt <4 x float> %v63, %c8.3
  %v65 = select <4 x i1> %v64, <4 x float> %v63, <4 x float> %c8.3
  %v66 = fcmp uno <4 x float> %v63, %v63
  %v67 = select <4 x i1> %v66, <4 x float> %v63, <4 x float> %v65
  br label %loop68
loop68:
  %i68 = phi i64 [ 96, %loop8.end ], [ %i68.next, %loop68.latch ]
  %c68.0 = phi <4 x float> [ %v67, %loop8.end ], [ %v79, %loop68.latch ]
  %i68.more = icmp slt i64 %i68, 100
  br i1 %i68.more, label %loop68.body, label %loop68.end
loop68.body:
  %v69 = sext i32 %v6 to i64
  %v70 = mul nsw i64 %v69, 4
  %v71 = add nsw i64 %v70, %i7
  %v72 = mul nsw i64 %v71, 100
  %v73 = add nsw i64 %v72, %i68
  %v74 = getelementptr float, ptr %v2, i64 %v73
  %v75 = load <4 x float>, ptr %v74, align 4
  %v76 = fcmp ogt <4 x float> %c68.0, %v75
  %v77 = select <4 x i1> %v76, <4 x float> %c68.0, <4 x float> %v75
  %v78 = fcmp uno <4 x float> %c68.0, %c68.0
  %v79 = select <4 x i1> %v78, <4 x float> %c68.0, <4 x float> %v77
  br label %loop68.latch
loop68.latch:
  %i68.next = add nsw i64 %i68, 4
  br label %loop68
loop68.end:
  %v80 = shufflevector <4 x float> %c68.0, <4 x float> poison, <4 x i32> <i32 2, i32 3, i32 2, i32 3>
  %v81 = fcmp ogt <4 x float> %c68.0, %v80
  %v82 = select <4 x i1> %v81, <4 x float> %c68.0, <4 x float> %v80
  %v83 = fcmp uno <4 x float> %c68.0, %c68.0
  %v84 = select <4 x i1> %v83, <4 x float> %c68.0, <4 x float> %v82
  %v85 = shufflevector <4 x float> %v84, <4 x float> poison, <4 x i32> <i32 1, i32 1, i32 2, i32 3>
  %v86 = fcmp ogt <4 x float> %v84, %v85
  %v87 = select <4 x i1> %v86, <4 x float> %v84, <4 x float> %v85
  %v88 = fcmp uno <4 x float> %v84, %v84
  %v89 = select <4 x i1> %v88, <4 x float> %v84, <4 x float> %v87
  %v90 = mul nsw i64 %i7, 4
  %v91 = add nsw i64 %v90, 1664
  %v92 = getelementptr i8, ptr %arena, i64 %v91
  %v93 = getelementptr float, ptr %v92, i64 0
  %v94 = extractelement <4 x float> %v89, i32 0
  store float %v94, ptr %v93, align 4
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  br label %loop95
loop95:
  %i95 = phi i64 [ 0, %loop7.end ], [ %i95.next, %loop95.latch ]
  %i95.more = icmp slt i64 %i95, 4
  br i1 %i95.more, label %loop95.body, label %loop95.end
loop95.body:
  br label %loop96
loop96:
  %i96 = phi i64 [ 0, %loop95.body ], [ %i96.next, %loop96.latch ]
  %i96.more = icmp slt i64 %i96, 100
  br i1 %i96.more, label %loop96.body, label %loop96.end
loop96.body:
  %v97 = sext i32 %v6 to i64
  %v98 = mul nsw i64 %v97, 4
  %v99 = add nsw i64 %v98, %i95
  %v100 = mul nsw i64 %v99, 100
  %v101 = add nsw i64 %v100, %i96
  %v102 = getelementptr float, ptr %v2, i64 %v101
  %v103 = load <4 x float>, ptr %v102, align 4
  %v104 = mul nsw i64 %i95, 4
  %v105 = add nsw i64 %v104, 1664
  %v106 = getelementptr i8, ptr %arena, i64 %v105
  %v107 = getelementptr float, ptr %v106, i64 0
  %v108 = load float, ptr %v107, align 4
  %v109 = insertelement <4 x float> poison, float %v108, i32 0
  %v110 = shufflevector <4 x float> %v109, <4 x float> poison, <4 x i32> zeroinitializer
  %v111 = fsub contract <4 x float> %v103, %v110
  %v112 = call <4 x float> @tw.exp.v4(<4 x float> %v111)
  %v113 = mul nsw i64 %i95, 100
  %v114 = add nsw i64 %v113, %i96
  %v115 = mul nsw i64 %v114, 4
  %v116 = getelementptr i8, ptr %arena, i64 %v115
  %v117 = getelementptr float, ptr %v116, i64 0
  store <4 x float> %v112, ptr %v117, align 4
  br label %loop96.latch
loop96.latch:
  %i96.next = add nsw i64 %i96, 4
  br label %loop96
loop96.end:
  br label %loop95.latch
loop95.latch:
  %i95.next = add nsw i64 %i95, 1
  br label %loop95
loop95.end:
  br label %loop118
loop118:
  %i118 = phi i64 [ 0, %loop95.end ], [ %i118.next, %loop118.latch ]
  %i118.more = icmp slt i64 %i118, 4
  br i1 %i118.more, label %loop118.body, label %loop118.end
loop118.body:
  br label %loop119
loop119:
  %i119 = phi i64 [ 0, %loop118.body ], [ %i119.next, %loop119.latch ]
  %c119.0 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop118.body ], [ %v126, %loop119.latch ]
  %c119.1 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop118.body ], [ %v134, %loop119.latch ]
  %c119.2 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop118.body ], [ %v142, %loop119.latch ]
  %c119.3 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop118.body ], [ %v150, %loop119.latch ]
  %i119.more = icmp slt i64 %i119, 96
  br i1 %i119.more, label %loop119.body, label %loop119.end
loop119.body:
  %v120 = mul nsw i64 %i118, 100
  %v121 = add nsw i64 %v120, %i119
  %v122 = mul nsw i64 %v121, 4
  %v123 = getelementptr i8, ptr %arena, i64 %v122
  %v124 = getelementptr float, ptr %v123, i64 0
  %v125 = load <4 x float>, ptr %v124, align 4
  %v126 = fadd contract <4 x float> %c119.0, %v125
  %v127 = add nsw i64 %i119, 4
  %v128 = mul nsw i64 %i118, 100
  %v129 = add nsw i64 %v128, %v127
  %v130 = mul nsw i64 %v129, 4
  %v131 = getelementptr i8, ptr %arena, i64 %v130
  %v132 = getelementptr float, ptr %v131, i64 0
  %v133 = load <4 x float>, ptr %v132, align 4
  %v134 = fadd contract <4 x float> %c119.1, %v133
  %v135 = add nsw i64 %i119, 8
  %v136 = mul nsw i64 %i118, 100
  %v137 = add nsw i64 %v136, %v135
  %v138 = mul nsw i64 %v137, 4
  %v139 = getelementptr i8, ptr %arena, i64 %v138
  %v140 = getelementptr float, ptr %v139, i64 0
  %v141 = load <4 x float>, ptr %v140, align 4
  %v142 = fadd contract <4 x float> %c119.2, %v141
  %v143 = add nsw i64 %i119, 12
  %v144 = mul nsw i64 %i118, 100
  %v145 = add nsw i64 %v144, %v143
  %v146 = mul nsw i64 %v145, 4
  %v147 = getelementptr i8, ptr %arena, i64 %v146
  %v148 = getelementptr float, ptr %v147, i64 0
  %v149 = load <4 x float>, ptr %v148, align 4
  %v150 = fadd contract <4 x float> %c119.3, %v149
  br label %loop119.latch
loop119.latch:
  %i119.next = add nsw i64 %i119, 16
  br label %loop119
loop119.end:
  %v151 = fadd contract <4 x float> %c119.0, %c119.1
  %v152 = fadd contract <4 x float> %v151, %c119.2
  %v153 = fadd contract <4 x float> %v152, %c119.3
  br label %loop154
loop154:
  %i154 = phi i64 [ 96, %loop119.end ], [ %i154.next, %loop154.latch ]
  %c154.0 = phi <4 x float> [ %v153, %loop119.end ], [ %v161, %loop154.latch ]
  %i154.more = icmp slt i64 %i154, 100
  br i1 %i154.more, label %loop154.body, label %loop154.end
loop154.body:
  %v155 = mul nsw i64 %i118, 100
  %v156 = add nsw i64 %v155, %i154
  %v157 = mul nsw i64 %v156, 4
  %v158 = getelementptr i8, ptr %arena, i64 %v157
  %v159 = getelementptr float, ptr %v158, i64 0
  %v160 = load <4 x float>, ptr %v159, align 4
  %v161 = fadd contract <4 x float> %c154.0, %v160
  br label %loop154.latch
loop154.latch:
  %i154.next = add nsw i64 %i154, 4
  br label %loop154
loop154.end:
  %v162 = shufflevector <4 x float> %c154.0, <4 x float> poison, <4 x i32> <i32 2, i32 3, i32 2, i32 3>
  %v163 = fadd contract <4 x float> %c154.0, %v162
  %v164 = shufflevector <4 x float> %v163, <4 x float> poison, <4 x i32> <i32 1, i32 1, i32 2, i32 3>
  %v165 = fadd contract <4 x float> %v163, %v164
  %v166 = mul nsw i64 %i118, 4
  %v167 = add nsw i64 %v166, 1664
  %v168 = getelementptr i8, ptr %arena, i64 %v167
  %v169 = getelementptr float, ptr %v168, i64 0
  %v170 = extractelement <4 x float> %v165, i32 0
  store float %v170, ptr %v169, align 4
  br label %loop118.latch
loop118.latch:
  %i118.next = add nsw i64 %i118, 1
  br label %loop118
loop118.end:
  br label %loop171
loop171:
  %i171 = phi i64 [ 0, %loop118.end ], [ %i171.next, %loop171.latch ]
  %i171.more = icmp slt i64 %i171, 4
  br i1 %i171.more, label %loop171.body, label %loop171.end
loop171.body:
  br label %loop172
loop172:
  %i172 = phi i64 [ 0, %loop171.body ], [ %i172.next, %loop172.latch ]
  %i172.more = icmp slt i64 %i172, 100
  br i1 %i172.more, label %loop172.body, label %loop172.end
loop172.body:
  %v173 = mul nsw i64 %i171, 100
  %v174 = add nsw i64 %v173, %i172
  %v175 = mul nsw i64 %v174, 4
  %v176 = getelementptr i8, ptr %arena, i64 %v175
  %v177 = getelementptr float, ptr %v176, i64 0
  %v178 = load <4 x float>, ptr %v177, align 4
  %v179 = mul nsw i64 %i171, 4
  %v180 = add nsw i64 %v179, 1664
  %v181 = getelementptr i8, ptr %arena, i64 %v180
  %v182 = getelementptr float, ptr %v181, i64 0
  %v183 = load float, ptr %v182, align 4
  %v184 = insertelement <4 x float> poison, float %v183, i32 0
  %v185 = shufflevector <4 x float> %v184, <4 x float> poison, <4 x i32> zeroinitializer
  %v186 = fdiv <4 x float> %v178, %v185
  %v187 = sext i32 %v6 to i64
  %v188 = mul nsw i64 %v187, 4
  %v189 = add nsw i64 %v188, %i171
  %v190 = mul nsw i64 %v189, 100
  %v191 = add nsw i64 %v190, %i172
  %v192 = getelementptr float, ptr %v4, i64 %v191
  store <4 x float> %v186, ptr %v192, align 4
  br label %loop172.latch
loop172.latch:
  %i172.next = add nsw i64 %i172, 4
  br label %loop172
loop172.end:
  br label %loop171.latch
loop171.latch:
  %i171.next = add nsw i64 %i171, 1
  br label %loop171
loop171.end:
  br label %loop5.latch
loop5.latch:
  %i5.next = add nsw i64 %i5, 1
  br label %loop5
loop5.end:
  ret void
}

