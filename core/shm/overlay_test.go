package shm_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/shm"
)

// counter is an example of a struct overlay.
type counter struct {
	shm.Header
	n atomic.Uint64
}

const counterMagic, counterLayout = 0x1122334455667788, 3

func page(t *testing.T) []byte {
	t.Helper()
	f, err := shm.Shared("test", 4096)
	closing(t, f, err)
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m.Bytes()
}

func TestLaterProcessReadsCreatedMemory(t *testing.T) {
	mem := page(t)
	if _, err := shm.Open[counter](mem, counterMagic, counterLayout); err == nil || mem[0] != 0 {
		t.Errorf("opened before it was created: %v, it begins with %d", err, mem[0])
	}
	c, err := shm.Create[counter](mem, counterMagic, counterLayout)
	if err != nil {
		t.Fatal(err)
	}
	c.n.Store(7)
	for name, open := range map[string]func([]byte, uint64, uint64) (*counter, error){"created again": shm.Create[counter], "opened": shm.Open[counter]} {
		if again, err := open(mem, counterMagic, counterLayout); err != nil || again.n.Load() != 7 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestForeignMemoryIsNotRead(t *testing.T) {
	other, older := page(t), page(t)
	if _, err := shm.Create[counter](other, counterMagic+1, counterLayout); err != nil {
		t.Fatal(err)
	}
	if _, err := shm.Create[counter](older, counterMagic, counterLayout-1); err != nil {
		t.Fatal(err)
	}
	for says, mem := range map[string][]byte{
		"has 0 bytes, 24 are needed": nil, "has 23 bytes, 24 are needed": page(t)[:23], "not aligned": page(t)[8:],
		"starts with 0x1122334455667789": other, "layout is 2, this program reads 3": older,
	} {
		for name, open := range map[string]func([]byte, uint64, uint64) (*counter, error){"create": shm.Create[counter], "open": shm.Open[counter]} {
			if c, err := open(mem, counterMagic, counterLayout); c != nil || err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q", name, err, says)
			}
		}
	}
}
