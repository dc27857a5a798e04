module axo/bench/peers

go 1.19
