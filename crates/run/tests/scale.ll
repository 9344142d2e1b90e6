; o[c, e] = factor * x[c, e], for cells of 1024 f32 elements; each cell also counts itself in the arena.
define void @scale(ptr %args, ptr %scalars, i64 %begin, i64 %end, ptr %arena) {
entry:
  %x = load ptr, ptr %args
  %o.slot = getelementptr ptr, ptr %args, i64 1
  %o = load ptr, ptr %o.slot
  %factor.int = load i32, ptr %scalars
  %factor = sitofp i32 %factor.int to float
  br label %cell
cell:
  %c = phi i64 [ %begin, %entry ], [ %c.next, %next ]
  %base = mul i64 %c, 1024
  br label %element
element:
  %e = phi i64 [ 0, %cell ], [ %e.next, %element ]
  %offset = add i64 %base, %e
  %from = getelementptr float, ptr %x, i64 %offset
  %to = getelementptr float, ptr %o, i64 %offset
  %value = load float, ptr %from, align 4
  %scaled = fmul float %value, %factor
  store float %scaled, ptr %to, align 4
  %e.next = add i64 %e, 1
  %more = icmp slt i64 %e.next, 1024
  br i1 %more, label %element, label %next
next:
  store i64 %c, ptr %arena, align 8
  %c.next = add i64 %c, 1
  %more.cells = icmp slt i64 %c.next, %end
  br i1 %more.cells, label %cell, label %done
done:
  ret void
}
