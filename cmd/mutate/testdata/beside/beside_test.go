package beside

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/mutate/testdata/tiny/half"
)

func TestSix(t *testing.T) {
	if half.Six() != 6 {
		t.Fatal("wrong")
	}
}
