package session

import (
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/shm"
)

// Blocks lie in shared memory while it has room and their index fits blockInfo. Others
// lie in the process's own memory. Each block is zeroed.
func TestBlocksUseSharedMemoryWhileItLasts(t *testing.T) {
	f, err := shm.Shared("sessions-test", MemorySize)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	m, err := OpenMemory(mapped.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	s := source{memory: m, owner: 7, shard: 3}
	shared := func(b unsafe.Pointer) bool {
		at := uintptr(b) - uintptr(unsafe.Pointer(&m.shared.blocks))
		return at < uintptr(memoryBlocks*blockBytes)
	}
	own := source{}
	for _, test := range []struct {
		name  string
		from  *source
		index int
		want  bool
	}{
		{"the first", &s, 0, true},
		{"the last that can be told", &s, 1<<16 - 1, true},
		{"the first that cannot", &s, 1 << 16, false},
		{"of no memory", &own, 0, false},
	} {
		b := test.from.take(kindSlab, test.index)
		if shared(b) != test.want {
			t.Errorf("%s: in shared memory: %t", test.name, shared(b))
		}
		if test.want {
			i := m.shared.used.Load() - 1
			p := &m.shared.info[i]
			if b != unsafe.Pointer(&m.shared.blocks[i]) || p.owner != 7 || p.shard != 3 || p.kind != 2 /* by the layout */ || int(p.index) != test.index || p.epoch.Load() != m.epoch {
				t.Errorf("%s: block %d is %+v", test.name, i, p)
			}
		}
		test.from.put(b)
	}
	if m.shared.used.Load() != 2-1 || len(m.free) != 1 || m.put(unsafe.Pointer(new([blockBytes]byte))) {
		t.Errorf("%d blocks were used, %v are free", m.shared.used.Load(), m.free)
	}
	b := s.take(kindEntries, 5)
	if (*[blockBytes]byte)(b)[100] = 1; b != unsafe.Pointer(&m.shared.blocks[0]) || len(m.free) != 0 {
		t.Error("a released block is not the next one")
	}
	if s.put(b); m.shared.info[0].epoch.Load() != 0 {
		t.Error("a released block has an owner")
	}
	if again := s.take(kindEntries, 6); again != b || (*[blockBytes]byte)(again)[100] != 0 {
		t.Error("a block is given out as it was left")
	}
	m.shared.used.Store(memoryBlocks - 1)
	if b := s.take(kindEntries, 7); b != unsafe.Pointer(&m.shared.blocks[memoryBlocks-1]) || m.shared.used.Load() != memoryBlocks {
		t.Error("the last block is not given out")
	} else {
		s.put(b)
	}
	m.free = nil
	if b := s.take(kindEntries, 8); shared(b) || m.shared.used.Load() != memoryBlocks {
		t.Error("more blocks are given out than there are")
	}
	m.shared.used.Store(1 << 20) // not a valid value
	if m, err = OpenMemory(mapped.Bytes()); err != nil || m.shared.used.Load() != memoryBlocks || len(m.free) != memoryBlocks-1 || len(m.left[7]) != 1 || m.epoch != 2 {
		t.Errorf("opened again: %v, %d blocks, %d free, left %v, epoch %d", err, m.shared.used.Load(), len(m.free), m.left, m.epoch)
	}
}
