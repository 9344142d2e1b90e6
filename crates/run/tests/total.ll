
; s[0] += the sum of the 1024 f32 elements of t that pick[c] names, for each cell c. args: t, pick, s.
define void @total(ptr %args, ptr %scalars, i64 %begin, i64 %end, ptr %arena) {
entry:
  %t = load ptr, ptr %args
  %pick.slot = getelementptr ptr, ptr %args, i64 1
  %pick = load ptr, ptr %pick.slot
  %s.slot = getelementptr ptr, ptr %args, i64 2
  %s = load ptr, ptr %s.slot
  br label %cell
cell:
  %c = phi i64 [ %begin, %entry ], [ %c.next, %next ]
  %picked.at = getelementptr i32, ptr %pick, i64 %c
  %picked = load i32, ptr %picked.at
  %picked.wide = sext i32 %picked to i64
  %base = mul i64 %picked.wide, 1024
  br label %element
element:
  %e = phi i64 [ 0, %cell ], [ %e.next, %element ]
  %offset = add i64 %base, %e
  %from = getelementptr float, ptr %t, i64 %offset
  %value = load float, ptr %from, align 4
  %before = load float, ptr %s, align 4
  %after = fadd float %before, %value
  store float %after, ptr %s, align 4
  %e.next = add i64 %e, 1
  %more = icmp slt i64 %e.next, 1024
  br i1 %more, label %element, label %next
next:
  %c.next = add i64 %c, 1
  %more.cells = icmp slt i64 %c.next, %end
  br i1 %more.cells, label %cell, label %done
done:
  ret void
}
