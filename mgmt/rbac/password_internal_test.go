package rbac

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/alexedwards/argon2id"
)

// nothing keeps nothing and has nothing.
var nothing = nowhere{errors.New("nothing is kept")}

func TestStrangersMakeAQuarterOfTheProcessorsWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for processors, want := range map[int]int{1: 1, 3: 1, 4: 1, 7: 1, 8: 2, 16: 4} {
		runtime.GOMAXPROCS(processors)
		b, err := NewBook(nothing)
		if err != nil || cap(b.busy) != want {
			t.Errorf("%d of %d processors, %v", cap(b.busy), processors, err)
		}
	}
}

func TestWhoWaitsForAProcessorCanGiveUp(t *testing.T) {
	b, err := NewBook(nothing)
	if err != nil {
		t.Fatal(err)
	}
	for range cap(b.busy) {
		b.busy <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Verify(ctx, "nobody", "secret-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range cap(b.busy) {
		<-b.busy
	}
	for range cap(b.busy) + 1 { // each gives its place back
		if _, err := b.Verify(t.Context(), "nobody", "secret-1"); !errors.Is(err, ErrWrong) {
			t.Errorf("got %v", err)
		}
	}
	if len(b.busy) != 0 {
		t.Errorf("%d work still", len(b.busy))
	}
}

func TestTheDecoyCostsWhatAHashDoes(t *testing.T) {
	params, salt, key, err := argon2id.DecodeHash(advised.decoy())
	if err != nil || *params != *advised.params() || len(salt) != 16 || len(key) != 32 {
		t.Errorf("%+v, salt %d, key %d, %v", params, len(salt), len(key), err)
	}
}
