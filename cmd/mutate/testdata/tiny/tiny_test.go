package tiny

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/mutate/testdata/tiny/half"
	"github.com/sluicelb/sluice/cmd/mutate/testdata/tiny/inner"
)

func TestQueueHoldsTwo(t *testing.T) {
	q := New()
	for n := range 2 {
		if err := q.Put(n); err != nil {
			t.Fatal(err)
		}
	}
	if q.Put(3) == nil {
		t.Fatal("a third was put")
	}
	if len(q.items) != 2 || q.items[1] != 1 {
		t.Fatal(q.items)
	}
	if New().Put(1000) == nil {
		t.Fatal("too much was put")
	}
	q.Clear()
	q.Clear() // hangs when the first still holds the lock
}

func TestSub(t *testing.T) {
	if string(Bytes("x")) != "x" || inner.Three() != 3 || half.Three() != 3 || Sub(5, 3) != 2 || Negative(3, 5) != 2 {
		t.Fatal("wrong")
	}
}
