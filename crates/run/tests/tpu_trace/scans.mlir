module @jit_scans {
  func.func public @main(%a: tensor<256x512xf32>, %b: tensor<512x384xf32>) -> (tensor<256x512xf32>, tensor<384x512xf32>, tensor<256x384xf32>, tensor<2x256x256xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %c = "stablehlo.reduce_window"(%a, %zero) <{window_dimensions = array<i64: 1, 512>, window_strides = array<i64: 1, 1>, padding = dense<[[0, 0], [511, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %r = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
    %t = stablehlo.transpose %b, dims = [1, 0] : (tensor<512x384xf32>) -> tensor<384x512xf32>
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x384xf32>) -> tensor<256x384xf32>
    %l = stablehlo.logistic %a : tensor<256x512xf32>
    %v = stablehlo.reshape %l : (tensor<256x512xf32>) -> tensor<2x256x256xf32>
    return %c, %t, %d, %v : tensor<256x512xf32>, tensor<384x512xf32>, tensor<256x384xf32>, tensor<2x256x256xf32>
  }
}
