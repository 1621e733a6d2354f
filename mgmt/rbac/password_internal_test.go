package rbac

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"testing"

	"github.com/alexedwards/argon2id"
)

// nothing is an empty Keeper that rejects writes.
var nothing = nowhere{errors.New("nothing is kept")}

func TestStrangersMakeAQuarterOfTheProcessorsWork(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for processors, want := range map[int]int{1: 1, 3: 1, 4: 1, 7: 1, 8: 2, 16: 4} {
		runtime.GOMAXPROCS(processors)
		b, err := NewBook(nothing)
		if err != nil || b.hashes.most != want {
			t.Errorf("%d of %d processors, %v", b.hashes.most, processors, err)
		}
	}
}

func TestWaitingVerifyCanBeCancelled(t *testing.T) {
	b, err := NewBook(nothing)
	if err != nil {
		t.Fatal(err)
	}
	for range b.hashes.most {
		if err := b.hashes.enter(t.Context(), netip.Prefix{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Verify(ctx, netip.Prefix{}, "nobody", "secret-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range b.hashes.most {
		b.hashes.leave()
	}
	for range b.hashes.most + 1 { // each must release its place
		if _, err := b.Verify(t.Context(), netip.Prefix{}, "nobody", "secret-1"); !errors.Is(err, ErrWrong) {
			t.Errorf("got %v", err)
		}
	}
	if b.hashes.working != 0 {
		t.Errorf("%d work still", b.hashes.working)
	}
}

func TestDecoyCostsAsMuchAsAHash(t *testing.T) {
	params, salt, key, err := argon2id.DecodeHash(advised.decoy())
	if err != nil || *params != *advised.params() || len(salt) != 16 || len(key) != 32 {
		t.Errorf("%+v, salt %d, key %d, %v", params, len(salt), len(key), err)
	}
}
