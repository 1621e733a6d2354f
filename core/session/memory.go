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

// blockBytes is the size of an allocation: a page.
const blockBytes = 4096

// memoryBlocks limits the sessions in shared memory to about eight million with short
// keys. Further sessions lie in the process's own memory.
const memoryBlocks = 1 << 17

// MemorySize is the size of a Memory in bytes. Only pages in use take memory.
const MemorySize = int(unsafe.Sizeof(memory{}))

// memoryMagic is "SLSESSNS" as a number. memoryLayout is incremented when the format of
// blocks or of their descriptions changes.
const (
	memoryMagic  = 0x534c534553534e53
	memoryLayout = 1
)

// ErrMemory means that memory does not hold a valid Memory.
var ErrMemory = errors.New("no memory of sessions")

// memory is the layout of the shared memory.
type memory struct {
	_      shm.Header
	epoch  atomic.Uint32 // incremented by each process that opens it
	used   atomic.Uint32 // blocks ever in use
	_      [40]byte
	info   [memoryBlocks]blockInfo
	_      [blockBytes - 64]byte
	blocks [memoryBlocks][blockBytes]byte
}

// blockInfo describes a block. The epoch is written last and cleared first: 0 means
// that the block is free.
type blockInfo struct {
	owner uint64 // number of the table
	epoch atomic.Uint32
	index uint16 // position among blocks of this kind in the shard
	shard uint8
	kind  uint8
}

// Kinds of blocks: entries, and from kindSlab one kind for each class of slots.
const (
	kindEntries uint8 = 1
	kindSlab    uint8 = 2
)

// Memory is shared memory for the sessions of tables, so that sessions survive the
// process. The next process finds them by owner number. One process may use it at a
// time. It is safe for concurrent use.
type Memory struct {
	shared *memory
	epoch  uint32

	mu   sync.Mutex
	free []uint32 // indices of blocks
	left map[uint64][]uint32
}

// OpenMemory returns the Memory in mem, at least MemorySize bytes mapped for writing.
// Zeroed memory is an empty Memory; other content fails with ErrMemory. mem must stay
// mapped.
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

// takeStock finds the blocks of an earlier process and the free blocks.
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

// HasLeft reports whether blocks of an earlier process have not been claimed.
func (m *Memory) HasLeft() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.left) > 0
}

// Retain frees the unclaimed tables of an earlier process, except the tables of owners.
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

// Owner returns the number that identifies a table: a hash of the service's stable
// number and words, the settings by which clients are recognised.
func Owner(service uint32, words ...string) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, service)
	for _, w := range words {
		_, _ = h.Write(append([]byte(w), 0))
	}
	return h.Sum64()
}

// release frees blocks; m.mu must be held.
func (m *Memory) release(blocks []uint32) {
	for _, i := range blocks {
		m.shared.info[i].epoch.Store(0)
	}
	m.free = append(m.free, blocks...)
}

// take returns a zeroed block, or nil if none is left.
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

// put frees a block and reports whether it lies in m.
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

// source allocates the blocks of a shard, from Memory or from the process's own memory.
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
