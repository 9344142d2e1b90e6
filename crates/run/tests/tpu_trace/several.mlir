module @jit_several {
  func.func public @main(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %c: tensor<256x512xbf16>, %d: tensor<512x256xbf16>) -> (tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<256x256xbf16>, tensor<1024xf32>, tensor<512x256xbf16>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %e = stablehlo.exponential %a : tensor<1024x1024xf32>
    %m = stablehlo.multiply %e, %b : tensor<1024x1024xf32>
    %r = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %p = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<256x512xbf16>, tensor<512x256xbf16>) -> tensor<256x256xbf16>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %n = stablehlo.negate %d : tensor<512x256xbf16>
    return %m, %r, %t, %p, %s, %n : tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<256x256xbf16>, tensor<1024xf32>, tensor<512x256xbf16>
  }
}
