package session

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// A key that does not fit its entry has its beginning there and its rest in a slot of
// the shard's slabs. Slabs are plain bytes, so the garbage collector does not scan
// them.
//
//	entry.key   36 bytes of the key, 4 bytes slot number
//	slot        the rest, in 32, 64 … 224 bytes, as many as fit a block

const (
	begin    = inline - 4 // bytes of a long key in its entry
	slotStep = 32
	classes  = (MaxKey-begin-1)/slotStep + 1 // slot sizes
)

// slab holds slots of one size.
type slab struct {
	blocks []*[blockBytes]byte
	used   int      // slots allocated so far within blocks
	free   []uint32 // returned slots
}

// slotIn returns slot n, counted over all blocks of a slab, within its block.
func slotIn(block *[blockBytes]byte, n uint32, size int) []byte {
	at := int(n%uint32(blockBytes/size)) * size
	return block[at : at+size]
}

func (s *slab) slot(n uint32, size int) []byte {
	return slotIn(s.blocks[n/uint32(blockBytes/size)], n, size)
}

// take allocates a slot of class c.
func (s *slab) take(from *source, c, size int) uint32 {
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		return slot
	}
	if s.used == len(s.blocks)*(blockBytes/size) {
		s.blocks = append(s.blocks, (*[blockBytes]byte)(from.take(kindSlab+uint8(c), len(s.blocks))))
	}
	s.used++
	return uint32(s.used - 1)
}

// put returns a slot. With the last one, all memory of the slab is returned.
func (s *slab) put(slot uint32, to *source) {
	if s.free = append(s.free, slot); len(s.free) == s.used {
		s.drop(to)
	}
}

// drop returns all memory.
func (s *slab) drop(to *source) {
	for _, b := range s.blocks {
		to.put(unsafe.Pointer(b))
	}
	*s = slab{}
}

// class returns the slot class for a long key, and the slot size in bytes.
func class(length int) (c, size int) {
	c = (length - begin - 1) / slotStep
	return c, (c + 1) * slotStep
}

// storeKey stores the key in a new entry.
func (s *shard) storeKey(e *entry, key []byte) {
	e.length = uint8(len(key))
	if len(key) <= inline {
		copy(e.key[:], key)
		return
	}
	if s.slabs == nil {
		s.slabs = new([classes]slab)
	}
	c, size := class(len(key))
	slot := s.slabs[c].take(&s.source, c, size)
	copy(e.key[:begin], key)
	binary.NativeEndian.PutUint32(e.key[begin:], slot)
	copy(s.slabs[c].slot(slot, size), key[begin:])
}

// rest returns the part of a long key that is not in its entry.
func (s *shard) rest(e *entry) []byte {
	c, size := class(int(e.length))
	return s.slabs[c].slot(binary.NativeEndian.Uint32(e.key[begin:]), size)[:int(e.length)-begin]
}

// dropKey returns the slot of an entry that is about to be removed.
func (s *shard) dropKey(e *entry) {
	if int(e.length) > inline {
		c, _ := class(int(e.length))
		s.slabs[c].put(binary.NativeEndian.Uint32(e.key[begin:]), &s.source)
	}
}

// same reports whether an entry has that key.
func (s *shard) same(e *entry, key []byte) bool {
	if int(e.length) != len(key) {
		return false
	}
	if len(key) <= inline {
		return bytes.Equal(e.key[:len(key)], key)
	}
	return bytes.Equal(e.key[:begin], key[:begin]) && bytes.Equal(s.rest(e), key[begin:])
}

// appendKey appends an entry's key.
func (s *shard) appendKey(dst []byte, e *entry) []byte {
	if int(e.length) <= inline {
		return append(dst, e.key[:e.length]...)
	}
	return append(append(dst, e.key[:begin]...), s.rest(e)...)
}
