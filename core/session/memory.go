package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sluicelb/sluice/core/shm"
)

// blockBytes is what memory is given out by: a page.
const blockBytes = 4096

// memoryBlocks bounds the sessions that lie in shared memory, to some eight
// million with short keys. What comes beyond lies in the process's own memory.
const memoryBlocks = 1 << 17

// MemorySize is the size of a Memory in bytes; only pages in use take memory.
const MemorySize = int(unsafe.Sizeof(memory{}))

// memoryMagic is "SLSESSNS" read as a number, memoryLayout grows whenever a
// block or what is told of it changes.
const (
	memoryMagic  = 0x534c534553534e53
	memoryLayout = 1
)

// ErrMemory occurs when memory does not hold what a Memory wrote.
var ErrMemory = errors.New("no memory of sessions")

// memory is what lies in shared memory.
type memory struct {
	_      shm.Header
	epoch  atomic.Uint32 // of the process that uses it; each one adds 1
	used   atomic.Uint32 // blocks that were ever in use
	_      [40]byte
	info   [memoryBlocks]blockInfo
	_      [blockBytes - 64]byte
	blocks [memoryBlocks][blockBytes]byte
}

// blockInfo tells what a block is. The epoch is written last and cleared first: a
// block whose epoch is 0 is nobody's.
type blockInfo struct {
	owner uint64 // of the table
	epoch atomic.Uint32
	index uint16 // which one of its kind in the shard
	shard uint8
	kind  uint8
}

// Kinds of blocks: of entries, and from kindSlab on one for each class of slots.
const (
	kindEntries uint8 = 1
	kindSlab    uint8 = 2
)

// Memory is shared memory in which tables keep their sessions, so that these
// outlive the process: whoever opens it next finds them by the number of their
// owner. One process uses it at a time. Any goroutine may call its methods.
type Memory struct {
	shared *memory
	epoch  uint32

	mu   sync.Mutex
	free []uint32 // blocks
	left map[uint64][]uint32
}

// OpenMemory returns the Memory in mem, at least MemorySize bytes mapped for
// writing; zeroed memory is an empty one. Anything else than a memory of this
// layout is refused with ErrMemory. mem must stay mapped for good.
func OpenMemory(mem []byte) (*Memory, error) {
	shared, err := shm.Create[memory](mem, memoryMagic, memoryLayout)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	m := &Memory{shared: shared, left: map[uint64][]uint32{}}
	m.epoch = max(1, shared.epoch.Add(1))
	m.takeStock()
	return m, nil
}

// takeStock learns which blocks an earlier process left, and which are free.
func (m *Memory) takeStock() {
	used := min(m.shared.used.Load(), memoryBlocks)
	m.shared.used.Store(used)
	for i := range used {
		p := &m.shared.info[i]
		if p.epoch.Load() == 0 {
			m.free = append(m.free, i)
		} else {
			m.left[p.owner] = append(m.left[p.owner], i)
		}
	}
}

// HasLeft reports whether there is anything of an earlier process for Retain to look at.
func (m *Memory) HasLeft() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.left) > 0
}

// Retain gives up what an earlier process left of tables that nobody has asked
// for, unless their owner is among those that may still do so.
func (m *Memory) Retain(owners ...uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for owner, blocks := range m.left {
		if !slices.Contains(owners, owner) {
			m.release(blocks)
			delete(m.left, owner)
		}
	}
}

// Owner is the number of a table: of a service's sessions for as long as words,
// by which clients are recognised, stay the same.
func Owner(service uint32, words ...string) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, service)
	for _, w := range words {
		_, _ = h.Write(append([]byte(w), 0))
	}
	return h.Sum64()
}

// release frees blocks; the lock is held.
func (m *Memory) release(blocks []uint32) {
	for _, i := range blocks {
		m.shared.info[i].epoch.Store(0)
	}
	m.free = append(m.free, blocks...)
}

// take gives out a zeroed block, nil when none is left.
func (m *Memory) take(owner uint64, shard, kind uint8, index uint16) unsafe.Pointer {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.shared.used.Load()
	if n := len(m.free); n > 0 {
		i, m.free = m.free[n-1], m.free[:n-1]
		clear(m.shared.blocks[i][:])
	} else if i < memoryBlocks {
		m.shared.used.Store(i + 1)
	} else {
		return nil
	}
	p := &m.shared.info[i]
	p.owner, p.shard, p.kind, p.index = owner, shard, kind, index
	p.epoch.Store(m.epoch)
	return unsafe.Pointer(&m.shared.blocks[i])
}

// put takes a block back and reports whether it is one of ours.
func (m *Memory) put(block unsafe.Pointer) bool {
	at := uintptr(block) - uintptr(unsafe.Pointer(&m.shared.blocks))
	if at >= unsafe.Sizeof(m.shared.blocks) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release([]uint32{uint32(at / blockBytes)})
	return true
}

// source is where a shard has its blocks from: the process's own memory when
// there is no other.
type source struct {
	memory *Memory
	owner  uint64
	shard  uint8
}

func (s *source) take(kind uint8, index int) unsafe.Pointer {
	if s.memory != nil && index <= 1<<16-1 {
		if b := s.memory.take(s.owner, s.shard, kind, uint16(index)); b != nil {
			return b
		}
	}
	return unsafe.Pointer(new([blockBytes]byte))
}

func (s *source) put(block unsafe.Pointer) {
	if s.memory != nil {
		s.memory.put(block)
	}
}
