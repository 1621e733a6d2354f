package boltfile

import (
	"encoding/binary"
	"fmt"
)

// The layout of pages, in the byte order of the machine (bbolt writes its structs):
//
//	page     id 8, flags 2, count 2, overflow 4; then count elements; then their bytes
//	branch   position 4, key size 4, page 8
//	leaf     flags 4, position 4, key size 4, value size 4
//
// Positions count from the element itself. Keys and values are stored in the order of the
// elements without gaps, which reveals damaged elements.
const (
	headerSize  = 16
	elementSize = 16

	branchPage   = 1
	leafPage     = 2
	freelistPage = 16

	bucketElement = 1
)

var order = binary.NativeEndian

// element is one element of a page.
type element struct {
	key, value []byte
	bucket     bool
	child      uint64
	// sound means that its position and sizes fit its neighbours.
	sound bool
}

// page is the parsed content of a page.
type page struct {
	leaf     bool
	elements []element
	end      uint64 // offset after the last byte in use
	fault    string // "" if there is none
}

// parse parses the page at the start of b, which may be longer. inline is for the page of a
// small bucket, which ends with b and has no number.
func parse(b []byte, id uint64, inline bool) page {
	if len(b) < headerSize {
		return page{fault: "it is cut off"}
	}
	flags, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	is := guess(b, flags == leafPage, count, inline)
	switch {
	case flags != leafPage && flags != branchPage:
		is.fault = fmt.Sprintf("its kind is %#x", flags)
	case !inline && order.Uint64(b) != id:
		is.fault = fmt.Sprintf("it has the number %d", order.Uint64(b))
	case count == 0 && !(inline && len(b) == headerSize):
		is.fault = "it is empty"
	}
	if is.fault == "" {
		return is
	}
	// One field of the header is wrong: the elements show which value it had.
	best := is
	for _, leaf := range []bool{true, false} {
		for _, n := range []int{count, counted(b, leaf)} {
			if other := guess(b, leaf, n, inline); other.worth() > best.worth() {
				best = other
			}
		}
	}
	best.fault = is.fault
	return best
}

// counted returns the number of elements, derived from the position of the first one's data.
func counted(b []byte, leaf bool) int {
	at := headerSize
	if leaf {
		at += 4
	}
	if len(b) < headerSize+elementSize {
		return 0
	}
	return int(min(order.Uint32(b[at:])/elementSize, 1<<16))
}

// worth returns the number of sound elements minus the others.
func (p *page) worth() (n int) {
	for i := range p.elements {
		if p.elements[i].sound {
			n++
		} else {
			n--
		}
	}
	return n
}

// guess parses count elements of a kind.
func guess(b []byte, leaf bool, count int, inline bool) page {
	p := page{leaf: leaf, end: headerSize}
	first := headerSize + elementSize*count
	if first > len(b) {
		return page{leaf: leaf, fault: fmt.Sprintf("it cannot have %d elements", count)}
	}
	p.elements = make([]element, count)
	starts, ends := make([]int, count+1), make([]int, count)
	for i := range count {
		starts[i], ends[i] = p.elements[i].read(b, headerSize+elementSize*i, leaf)
	}
	if inline {
		starts[count] = len(b)
	} else if count > 0 {
		starts[count] = ends[count-1]
	}
	before := first
	for i := range count {
		e := &p.elements[i]
		e.sound = e.key != nil && starts[i] == before && ends[i] == starts[i+1]
		if !e.sound && p.fault == "" {
			p.fault = fmt.Sprintf("element %d does not fit the others", i)
		}
		before = ends[i]
		p.end = max(p.end, uint64(ends[i]))
	}
	return p
}

// read parses an element and returns the range of its bytes. Key and value are nil if the range
// is invalid.
func (e *element) read(b []byte, at int, leaf bool) (from, to int) {
	field := func(i int) uint64 { return uint64(order.Uint32(b[at+4*i:])) }
	position, ksize, vsize := field(0), field(1), uint64(0)
	if leaf {
		position, ksize, vsize = field(1), field(2), field(3)
		e.bucket = field(0) == bucketElement
		if field(0) > bucketElement {
			return 0, 0
		}
	} else {
		e.child = order.Uint64(b[at+8:])
	}
	start := uint64(at) + position
	end := start + ksize + vsize
	if ksize == 0 || end > uint64(len(b)) {
		return 0, 0
	}
	e.key, e.value = b[start:start+ksize:start+ksize], b[start+ksize:end:end]
	return int(start), int(end)
}
