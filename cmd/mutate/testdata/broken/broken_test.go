package broken

import "testing"

func TestTwoIsThree(t *testing.T) {
	if Two() != 3 {
		t.Fatal("it is not three")
	}
}
