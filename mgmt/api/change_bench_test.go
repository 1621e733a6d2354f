package api_test

import (
	"fmt"
	"testing"
)

// BenchmarkChange changes a farm with a service and two backends, for `make files`.
func BenchmarkChange(b *testing.B) {
	a := newAppliance(b)
	a.shop(2)
	for i := 0; b.Loop(); i++ {
		a.must(200, "PUT", "/farms/shop", fmt.Sprintf(`{"contimeout":%d}`, 1+i%10))
	}
}
