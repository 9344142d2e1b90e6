module @jit_layer {
  func.func public @main(%x: tensor<512x1024xbf16>, %w: tensor<1024x512xbf16>, %g: tensor<512xf32>) -> tensor<512x512xbf16> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x1024xbf16>, tensor<1024x512xbf16>) -> tensor<512x512xf32>
    %t = stablehlo.tanh %y : tensor<512x512xf32>
    %m = stablehlo.reduce(%t init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
    %d = stablehlo.subtract %t, %mb : tensor<512x512xf32>
    %e = stablehlo.exponential %d : tensor<512x512xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
    %q = stablehlo.divide %e, %sb : tensor<512x512xf32>
    %z = stablehlo.dot_general %q, %t, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %gb = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<512xf32>) -> tensor<512x512xf32>
    %n = stablehlo.multiply %z, %gb : tensor<512x512xf32>
    %o = stablehlo.convert %n : (tensor<512x512xf32>) -> tensor<512x512xbf16>
    return %o : tensor<512x512xbf16>
  }
}
