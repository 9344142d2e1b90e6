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
  %c8.0 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v18, %loop8.latch ]
  %c8.1 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v29, %loop8.latch ]
  %c8.2 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v40, %loop8.latch ]
  %c8.3 = phi <4 x float> [ <float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000, float 0xFFF0000000000000>, %loop7.body ], [ %v51, %loop8.latch ]
  %i8.more = icmp slt i64 %i8, 96
  br i1 %i8.more, label %loop8.body, label %loop8.end
loop8.body:
  %v9 = mul nsw i64 %i5, 4
  %v10 = add nsw i64 %v9, %i7
  %v11 = mul nsw i64 %v10, 100
  %v12 = add nsw i64 %v11, %i8
  %v13 = getelementptr float, ptr %v2, i64 %v12
  %v14 = load <4 x float>, ptr %v13, align 4
  %v15 = fcmp ogt <4 x float> %c8.0, %v14
  %v16 = select <4 x i1> %v15, <4 x float> %c8.0, <4 x float> %v14
  %v17 = fcmp uno <4 x float> %c8.0, %c8.0
  %v18 = select <4 x i1> %v17, <4 x float> %c8.0, <4 x float> %v16
  %v19 = add nsw i64 %i8, 4
  %v20 = mul nsw i64 %i5, 4
  %v21 = add nsw i64 %v20, %i7
  %v22 = mul nsw i64 %v21, 100
  %v23 = add nsw i64 %v22, %v19
  %v24 = getelementptr float, ptr %v2, i64 %v23
  %v25 = load <4 x float>, ptr %v24, align 4
  %v26 = fcmp ogt <4 x float> %c8.1, %v25
  %v27 = select <4 x i1> %v26, <4 x float> %c8.1, <4 x float> %v25
  %v28 = fcmp uno <4 x float> %c8.1, %c8.1
  %v29 = select <4 x i1> %v28, <4 x float> %c8.1, <4 x float> %v27
  %v30 = add nsw i64 %i8, 8
  %v31 = mul nsw i64 %i5, 4
  %v32 = add nsw i64 %v31, %i7
  %v33 = mul nsw i64 %v32, 100
  %v34 = add nsw i64 %v33, %v30
  %v35 = getelementptr float, ptr %v2, i64 %v34
  %v36 = load <4 x float>, ptr %v35, align 4
  %v37 = fcmp ogt <4 x float> %c8.2, %v36
  %v38 = select <4 x i1> %v37, <4 x float> %c8.2, <4 x float> %v36
  %v39 = fcmp uno <4 x float> %c8.2, %c8.2
  %v40 = select <4 x i1> %v39, <4 x float> %c8.2, <4 x float> %v38
  %v41 = add nsw i64 %i8, 12
  %v42 = mul nsw i64 %i5, 4
  %v43 = add nsw i64 %v42, %i7
  %v44 = mul nsw i64 %v43, 100
  %v45 = add nsw i64 %v44, %v41
  %v46 = getelementptr float, ptr %v2, i64 %v45
  %v47 = load <4 x float>, ptr %v46, align 4
  %v48 = fcmp ogt <4 x float> %c8.3, %v47
  %v49 = select <4 x i1> %v48, <4 x float> %c8.3, <4 x float> %v47
  %v50 = fcmp uno <4 x float> %c8.3, %c8.3
  %v51 = select <4 x i1> %v50, <4 x float> %c8.3, <4 x float> %v49
  br label %loop8.latch
loop8.latch:
  %i8.next = add nsw i64 %i8, 16
  br label %loop8
loop8.end:
  %v52 = fcmp ogt <4 x float> %c8.0, %c8.1
  %v53 = select <4 x i1> %v52, <4 x float> %c8.0, <4 x float> %c8.1
  %v54 = fcmp uno <4 x float> %c8.0, %c8.0
  %v55 = select <4 x i1> %v54, <4 x float> %c8.0, <4 x float> %v53
  %v56 = fcmp ogt <4 x float> %v55, %c8.2
  %v57 = select <4 x i1> %v56, <4 x float> %v55, <4 x float> %c8.2
  %v58 = fcmp uno <4 x float> %v55, %v55
  %v59 = select <4 x i1> %v58, <4 x float> %v55, <4 x float> %v57
  %v60 = fcmp ogt <4 x float> %v59, %c8.3
  %v61 = select <4 x i1> %v60, <4 x float> %v59, <4 x float> %c8.3
  %v62 = fcmp uno <4 x float> %v59, %v59
  %v63 = select <4 x i1> %v62, <4 x float> %v59, <4 x float> %v61
  br label %loop64
loop64:
  %i64 = phi i64 [ 96, %loop8.end ], [ %i64.next, %loop64.latch ]
  %c64.0 = phi <4 x float> [ %v63, %loop8.end ], [ %v74, %loop64.latch ]
  %i64.more = icmp slt i64 %i64, 100
  br i1 %i64.more, label %loop64.body, label %loop64.end
loop64.body:
  %v65 = mul nsw i64 %i5, 4
  %v66 = add nsw i64 %v65, %i7
  %v67 = mul nsw i64 %v66, 100
  %v68 = add nsw i64 %v67, %i64
  %v69 = getelementptr float, ptr %v2, i64 %v68
  %v70 = load <4 x float>, ptr %v69, align 4
  %v71 = fcmp ogt <4 x float> %c64.0, %v70
  %v72 = select <4 x i1> %v71, <4 x float> %c64.0, <4 x float> %v70
  %v73 = fcmp uno <4 x float> %c64.0, %c64.0
  %v74 = select <4 x i1> %v73, <4 x float> %c64.0, <4 x float> %v72
  br label %loop64.latch
loop64.latch:
  %i64.next = add nsw i64 %i64, 4
  br label %loop64
loop64.end:
  %v75 = shufflevector <4 x float> %c64.0, <4 x float> poison, <4 x i32> <i32 2, i32 3, i32 2, i32 3>
  %v76 = fcmp ogt <4 x float> %c64.0, %v75
  %v77 = select <4 x i1> %v76, <4 x float> %c64.0, <4 x float> %v75
  %v78 = fcmp uno <4 x float> %c64.0, %c64.0
  %v79 = select <4 x i1> %v78, <4 x float> %c64.0, <4 x float> %v77
  %v80 = shufflevector <4 x float> %v79, <4 x float> poison, <4 x i32> <i32 1, i32 1, i32 2, i32 3>
  %v81 = fcmp ogt <4 x float> %v79, %v80
  %v82 = select <4 x i1> %v81, <4 x float> %v79, <4 x float> %v80
  %v83 = fcmp uno <4 x float> %v79, %v79
  %v84 = select <4 x i1> %v83, <4 x float> %v79, <4 x float> %v82
  %v85 = mul nsw i64 %i7, 4
  %v86 = add nsw i64 %v85, 1664
  %v87 = getelementptr i8, ptr %arena, i64 %v86
  %v88 = getelementptr float, ptr %v87, i64 0
  %v89 = extractelement <4 x float> %v84, i32 0
  store float %v89, ptr %v88, align 4
  br label %loop7.latch
loop7.latch:
  %i7.next = add nsw i64 %i7, 1
  br label %loop7
loop7.end:
  br label %loop90
loop90:
  %i90 = phi i64 [ 0, %loop7.end ], [ %i90.next, %loop90.latch ]
  %i90.more = icmp slt i64 %i90, 4
  br i1 %i90.more, label %loop90.body, label %loop90.end
loop90.body:
  br label %loop91
loop91:
  %i91 = phi i64 [ 0, %loop90.body ], [ %i91.next, %loop91.latch ]
  %i91.more = icmp slt i64 %i91, 100
  br i1 %i91.more, label %loop91.body, label %loop91.end
loop91.body:
  %v92 = mul nsw i64 %i5, 4
  %v93 = add nsw i64 %v92, %i90
  %v94 = mul nsw i64 %v93, 100
  %v95 = add nsw i64 %v94, %i91
  %v96 = getelementptr float, ptr %v2, i64 %v95
  %v97 = load <4 x float>, ptr %v96, align 4
  %v98 = mul nsw i64 %i90, 4
  %v99 = add nsw i64 %v98, 1664
  %v100 = getelementptr i8, ptr %arena, i64 %v99
  %v101 = getelementptr float, ptr %v100, i64 0
  %v102 = load float, ptr %v101, align 4
  %v103 = insertelement <4 x float> poison, float %v102, i32 0
  %v104 = shufflevector <4 x float> %v103, <4 x float> poison, <4 x i32> zeroinitializer
  %v105 = fsub contract <4 x float> %v97, %v104
  %v106 = call <4 x float> @tw.exp.v4(<4 x float> %v105)
  %v107 = mul nsw i64 %i90, 100
  %v108 = add nsw i64 %v107, %i91
  %v109 = mul nsw i64 %v108, 4
  %v110 = getelementptr i8, ptr %arena, i64 %v109
  %v111 = getelementptr float, ptr %v110, i64 0
  store <4 x float> %v106, ptr %v111, align 4
  br label %loop91.latch
loop91.latch:
  %i91.next = add nsw i64 %i91, 4
  br label %loop91
loop91.end:
  br label %loop90.latch
loop90.latch:
  %i90.next = add nsw i64 %i90, 1
  br label %loop90
loop90.end:
  br label %loop112
loop112:
  %i112 = phi i64 [ 0, %loop90.end ], [ %i112.next, %loop112.latch ]
  %i112.more = icmp slt i64 %i112, 4
  br i1 %i112.more, label %loop112.body, label %loop112.end
loop112.body:
  br label %loop113
loop113:
  %i113 = phi i64 [ 0, %loop112.body ], [ %i113.next, %loop113.latch ]
  %c113.0 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop112.body ], [ %v120, %loop113.latch ]
  %c113.1 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop112.body ], [ %v128, %loop113.latch ]
  %c113.2 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop112.body ], [ %v136, %loop113.latch ]
  %c113.3 = phi <4 x float> [ <float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000, float 0x0000000000000000>, %loop112.body ], [ %v144, %loop113.latch ]
  %i113.more = icmp slt i64 %i113, 96
  br i1 %i113.more, label %loop113.body, label %loop113.end
loop113.body:
  %v114 = mul nsw i64 %i112, 100
  %v115 = add nsw i64 %v114, %i113
  %v116 = mul nsw i64 %v115, 4
  %v117 = getelementptr i8, ptr %arena, i64 %v116
  %v118 = getelementptr float, ptr %v117, i64 0
  %v119 = load <4 x float>, ptr %v118, align 4
  %v120 = fadd contract <4 x float> %c113.0, %v119
  %v121 = add nsw i64 %i113, 4
  %v122 = mul nsw i64 %i112, 100
  %v123 = add nsw i64 %v122, %v121
  %v124 = mul nsw i64 %v123, 4
  %v125 = getelementptr i8, ptr %arena, i64 %v124
  %v126 = getelementptr float, ptr %v125, i64 0
  %v127 = load <4 x float>, ptr %v126, align 4
  %v128 = fadd contract <4 x float> %c113.1, %v127
  %v129 = add nsw i64 %i113, 8
  %v130 = mul nsw i64 %i112, 100
  %v131 = add nsw i64 %v130, %v129
  %v132 = mul nsw i64 %v131, 4
  %v133 = getelementptr i8, ptr %arena, i64 %v132
  %v134 = getelementptr float, ptr %v133, i64 0
  %v135 = load <4 x float>, ptr %v134, align 4
  %v136 = fadd contract <4 x float> %c113.2, %v135
  %v137 = add nsw i64 %i113, 12
  %v138 = mul nsw i64 %i112, 100
  %v139 = add nsw i64 %v138, %v137
  %v140 = mul nsw i64 %v139, 4
  %v141 = getelementptr i8, ptr %arena, i64 %v140
  %v142 = getelementptr float, ptr %v141, i64 0
  %v143 = load <4 x float>, ptr %v142, align 4
  %v144 = fadd contract <4 x float> %c113.3, %v143
  br label %loop113.latch
loop113.latch:
  %i113.next = add nsw i64 %i113, 16
  br label %loop113
loop113.end:
  %v145 = fadd contract <4 x float> %c113.0, %c113.1
  %v146 = fadd contract <4 x float> %v145, %c113.2
  %v147 = fadd contract <4 x float> %v146, %c113.3
  br label %loop148
loop148:
  %i148 = phi i64 [ 96, %loop113.end ], [ %i148.next, %loop148.latch ]
  %c148.0 = phi <4 x float> [ %v147, %loop113.end ], [ %v155, %loop148.latch ]
  %i148.more = icmp slt i64 %i148, 100
  br i1 %i148.more, label %loop148.body, label %loop148.end
loop148.body:
  %v149 = mul nsw i64 %i112, 100
  %v150 = add nsw i64 %v149, %i148
  %v151 = mul nsw i64 %v150, 4
  %v152 = getelementptr i8, ptr %arena, i64 %v151
  %v153 = getelementptr float, ptr %v152, i64 0
  %v154 = load <4 x float>, ptr %v153, align 4
  %v155 = fadd contract <4 x float> %c148.0, %v154
  br label %loop148.latch
loop148.latch:
  %i148.next = add nsw i64 %i148, 4
  br label %loop148
loop148.end:
  %v156 = shufflevector <4 x float> %c148.0, <4 x float> poison, <4 x i32> <i32 2, i32 3, i32 2, i32 3>
  %v157 = fadd contract <4 x float> %c148.0, %v156
  %v158 = shufflevector <4 x float> %v157, <4 x float> poison, <4 x i32> <i32 1, i32 1, i32 2, i32 3>
  %v159 = fadd contract <4 x float> %v157, %v158
  %v160 = mul nsw i64 %i112, 4
  %v161 = add nsw i64 %v160, 1664
  %v162 = getelementptr i8, ptr %arena, i64 %v161
  %v163 = getelementptr float, ptr %v162, i64 0
  %v164 = extractelement <4 x float> %v159, i32 0
  store float %v164, ptr %v163, align 4
  br label %loop112.latch
loop112.latch:
  %i112.next = add nsw i64 %i112, 1
  br label %loop112
loop112.end:
  br label %loop165
loop165:
  %i165 = phi i64 [ 0, %loop112.end ], [ %i165.next, %loop165.latch ]
  %i165.more = icmp slt i64 %i165, 4
  br i1 %i165.more, label %loop165.body, label %loop165.end
loop165.body:
  br label %loop166
loop166:
  %i166 = phi i64 [ 0, %loop165.body ], [ %i166.next, %loop166.latch ]
  %i166.more = icmp slt i64 %i166, 100
  br i1 %i166.more, label %loop166.body, label %loop166.end
loop166.body:
  %v167 = mul nsw i64 %i165, 100
  %v168 = add nsw i64 %v167, %i166
  %v169 = mul nsw i64 %v168, 4
  %v170 = getelementptr i8, ptr %arena, i64 %v169
  %v171 = getelementptr float, ptr %v170, i64 0
  %v172 = load <4 x float>, ptr %v171, align 4
  %v173 = mul nsw i64 %i165, 4
  %v174 = add nsw i64 %v173, 1664
  %v175 = getelementptr i8, ptr %arena, i64 %v174
  %v176 = getelementptr float, ptr %v175, i64 0
  %v177 = load float, ptr %v176, align 4
  %v178 = insertelement <4 x float> poison, float %v177, i32 0
  %v179 = shufflevector <4 x float> %v178, <4 x float> poison, <4 x i32> zeroinitializer
  %v180 = fdiv <4 x float> %v172, %v179
  %v181 = mul nsw i64 %i5, 4
  %v182 = add nsw i64 %v181, %i165
  %v183 = mul nsw i64 %v182, 100
  %v184 = add nsw i64 %v183, %i166
  %v185 = getelementptr float, ptr %v4, i64 %v184
  store <4 x float> %v180, ptr %v185, align 4
  br label %loop166.latch
loop166.latch:
  %i166.next = add nsw i64 %i166, 4
  br label %loop166
loop166.end:
  br label %loop165.latch
loop165.latch:
  %i165.next = add nsw i64 %i165, 1
  br label %loop165
loop165.end:
  br label %loop5.latch
loop5.latch:
  %i5.next = add nsw i64 %i5, 1
  br label %loop5
loop5.end:
  ret void
}

