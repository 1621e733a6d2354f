package session

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// A key that does not fit its entry keeps its beginning there, and a slot of
// the shard's slabs for the rest. Slabs are plain bytes: the garbage collector
// follows none of a million keys.
//
//	entry.key   36 bytes of the key, 4 of the slot's number
//	slot        the rest, in 32, 64 … 224 bytes, as many as fit a block

const (
	begin    = inline - 4 // bytes of a long key in its entry
	slotStep = 32
	classes  = (MaxKey-begin-1)/slotStep + 1 // of slots, by size
)

// slab holds slots of one size.
type slab struct {
	blocks []*[blockBytes]byte
	used   int      // slots ever given out, of those in blocks
	free   []uint32 // given back
}

// slotIn finds a slot in a block: n counts over all blocks of a slab.
func slotIn(block *[blockBytes]byte, n uint32, size int) []byte {
	at := int(n%uint32(blockBytes/size)) * size
	return block[at : at+size]
}

func (s *slab) slot(n uint32, size int) []byte {
	return slotIn(s.blocks[n/uint32(blockBytes/size)], n, size)
}

// take gives out a slot of class c.
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

// put takes a slot back. When it was the last in use the memory goes too.
func (s *slab) put(slot uint32, to *source) {
	if s.free = append(s.free, slot); len(s.free) == s.used {
		s.drop(to)
	}
}

// drop gives all memory back.
func (s *slab) drop(to *source) {
	for _, b := range s.blocks {
		to.put(unsafe.Pointer(b))
	}
	*s = slab{}
}

// class is the size of the slot for a long key: its position, and in bytes.
func class(length int) (c, size int) {
	c = (length - begin - 1) / slotStep
	return c, (c + 1) * slotStep
}

// storeKey puts the key into a fresh entry.
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

// rest is what of a long key is not in its entry.
func (s *shard) rest(e *entry) []byte {
	c, size := class(int(e.length))
	return s.slabs[c].slot(binary.NativeEndian.Uint32(e.key[begin:]), size)[:int(e.length)-begin]
}

// dropKey gives back the slot of an entry that is about to go.
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
