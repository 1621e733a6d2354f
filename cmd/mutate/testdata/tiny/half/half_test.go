//mutate:tests ../../beside

package half

import "testing"

func TestFour(t *testing.T) {
	if Four() != 4 {
		t.Fatal("wrong")
	}
}
