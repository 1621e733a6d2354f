package session

import (
	"encoding/binary"
	"hash/crc32"
	"unsafe"
)

// NewIn is New with the sessions in m, starting with those that an earlier process left
// under the same owner. It skips static ones, which belong to the configuration, and
// one that was being written when a process was killed. m may be nil. An owner has one
// table at a time; it must be released before the next.
func NewIn(m *Memory, owner uint64, maxEntries int) *Table {
	t := New(maxEntries)
	if m == nil {
		return t
	}
	for i := range t.shards {
		t.shards[i].source = source{memory: m, owner: owner, shard: uint8(i)}
	}
	m.mu.Lock()
	blocks := m.left[owner]
	delete(m.left, owner)
	m.mu.Unlock()
	t.adopt(m, blocks)
	m.mu.Lock()
	m.release(blocks)
	m.mu.Unlock()
	return t
}

// Release frees the shared memory. The table is empty afterwards and continues in the
// process's own memory, so remaining references may still use it.
func (t *Table) Release() {
	for i := range t.shards {
		t.shards[i].release()
	}
}

func (s *shard) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.blocks {
		s.source.put(unsafe.Pointer(b))
	}
	if s.slabs != nil {
		for c := range s.slabs {
			s.slabs[c].drop(&s.source)
		}
	}
	s.blocks, s.slabs, s.buckets, s.n, s.counts, s.cursor, s.source = nil, nil, nil, 0, [standings]int{}, 0, source{}
}

// slabAt identifies a block of slots.
type slabAt struct {
	shard, class uint8
	index        uint16
}

// adopt inserts the sessions of an earlier table into t.
func (t *Table) adopt(m *Memory, blocks []uint32) {
	slabs := map[slabAt]*[blockBytes]byte{}
	for _, i := range blocks {
		if p := &m.shared.info[i]; p.kind >= kindSlab {
			slabs[slabAt{p.shard, p.kind - kindSlab, p.index}] = &m.shared.blocks[i]
		}
	}
	key := make([]byte, 0, MaxKey)
	for _, i := range blocks {
		p := &m.shared.info[i]
		if p.kind != kindEntries {
			continue
		}
		for at := range (*[blockSize]entry)(unsafe.Pointer(&m.shared.blocks[i])) {
			e := &(*[blockSize]entry)(unsafe.Pointer(&m.shared.blocks[i]))[at]
			if key = e.whole(key[:0], p.shard, slabs); len(key) > 0 && e.standing != static && e.sum == sum(key, e.backend) {
				used := min(e.used, Now()) // the clock may have been set back since
				if t.Put(key, e.backend, used); e.standing == proven {
					t.Get(key, used, 0)
				}
			}
		}
	}
}

// whole appends the key of an entry of an earlier process, or nothing if it is
// incomplete.
func (e *entry) whole(dst []byte, shard uint8, slabs map[slabAt]*[blockBytes]byte) []byte {
	if int(e.length) <= inline {
		return append(dst, e.key[:e.length]...)
	}
	c, size := class(int(e.length))
	n := binary.NativeEndian.Uint32(e.key[begin:])
	block := slabs[slabAt{shard, uint8(c), uint16(n / uint32(blockBytes/size))}]
	if block == nil {
		return dst
	}
	dst = append(dst, e.key[:begin]...)
	return append(dst, slotIn(block, n, size)[:int(e.length)-begin]...)
}

// seal updates the checksum of the entry. If the process is killed during a write, the
// checksum does not match.
func (e *entry) seal(key []byte) { e.sum = sum(key, e.backend) }

func sum(key []byte, backend uint32) uint16 {
	c := crc32.ChecksumIEEE(key) ^ backend*0x9e3779b1 // spreads the low bits of small numbers
	return uint16(c) ^ uint16(c>>16)
}
