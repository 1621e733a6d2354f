package boltfile

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
)

// File is the content of a bbolt file.
type File struct {
	b        []byte
	pageSize uint64
	heads    []Root // the intact ones, newest first
}

// Root is the start of a transaction.
type Root struct {
	// Tx is the number of the transaction; 0 if no head names it.
	Tx    uint64
	page  uint64
	free  uint64 // first page of the free list
	pages uint64 // number of pages
}

// The layout of a head, with sizes in bytes: page header 16, magic 4, version 4, page size 4,
// flags 4, root page 8, root sequence 8, free list 8, pages 8, transaction 8, checksum 8.
const (
	headSize = headerSize + 64
	magic    = 0xED0CDAED
	version  = 2
)

// New returns the File with this content.
func New(b []byte) *File {
	f := &File{b: b, pageSize: uint64(os.Getpagesize())}
	size, found := pageSizeOf(b, 0)
	for at := 1024; !found && at <= 1<<24; at *= 2 { // the first head is lost: search the second
		size, found = pageSizeOf(b, at)
	}
	if found {
		f.pageSize = size
	}
	for at := range uint64(2) {
		if r, ok := readHead(b, at*f.pageSize); ok {
			f.heads = append(f.heads, r)
		}
	}
	slices.SortFunc(f.heads, func(x, y Root) int { return int(int64(y.Tx - x.Tx)) })
	return f
}

func pageSizeOf(b []byte, at int) (uint64, bool) {
	if _, ok := readHead(b, uint64(at)); !ok {
		return 0, false
	}
	size := uint64(order.Uint32(b[at+headerSize+8:]))
	return size, size >= 1024 && size <= 1<<24 && size&(size-1) == 0
}

func readHead(b []byte, at uint64) (Root, bool) {
	if at+headSize > uint64(len(b)) {
		return Root{}, false
	}
	head := b[at+headerSize : at+headSize]
	sum := fnv.New64a()
	_, _ = sum.Write(head[:56])
	if order.Uint32(head) != magic || order.Uint32(head[4:]) != version || order.Uint64(head[56:]) != sum.Sum64() {
		return Root{}, false
	}
	return Root{Tx: order.Uint64(head[48:]), page: order.Uint64(head[16:]), free: order.Uint64(head[32:]), pages: order.Uint64(head[40:])}, true
}

// Heads returns the roots of the last two transactions, newest first. A damaged head is
// missing, which may be that of the newest.
func (f *File) Heads() []Root { return f.heads }

// at returns the file from the start of a page, nil if the page does not exist.
func (f *File) at(id uint64) []byte {
	if id >= uint64(len(f.b))/f.pageSize+1 || id*f.pageSize >= uint64(len(f.b)) {
		return nil
	}
	return f.b[id*f.pageSize:]
}

// Roots returns the pages with at least three buckets whose names are known. Most belong to old
// transactions.
func (f *File) Roots(known func(name []byte) bool) (out []Root) {
	pages := uint64(len(f.b)) / f.pageSize
	for id := uint64(2); id < pages; id++ {
		p, n := f.leaf(id), 0
		for _, e := range p.elements {
			if e.sound && e.bucket && known(e.key) {
				n++
			}
		}
		if n >= 3 {
			out = append(out, Root{page: id, pages: pages})
		}
	}
	return out
}

// Leaves calls do for the keys and values of all pages, including unused ones.
func (f *File) Leaves(do func(key, value []byte)) {
	for id := uint64(2); id < uint64(len(f.b))/f.pageSize; id++ {
		for _, e := range f.leaf(id).elements {
			if e.key != nil && !e.bucket {
				do(e.key, e.value)
			}
		}
	}
}

// leaf parses a page that is marked as a leaf, or looks like one except for its header.
func (f *File) leaf(id uint64) page {
	b := f.at(id)
	if len(b) < headerSize || order.Uint16(b[8:]) != leafPage && order.Uint64(b) != id {
		return page{}
	}
	if p := parse(b, id, false); p.leaf {
		return p
	}
	return page{}
}

// Sound returns the tree, and an error if bbolt must not open the file.
func (f *File) Sound() (*Tree, error) {
	if len(f.heads) < 2 {
		return nil, fmt.Errorf("%d of the two heads of the file are damaged", 2-len(f.heads))
	}
	t := f.Read(f.heads[0])
	if err := t.Fault(); err != nil {
		return t, err
	}
	if missing := int64(f.heads[0].pages*f.pageSize) - int64(len(f.b)); missing > 0 {
		return t, fmt.Errorf("its last %d bytes are missing", missing)
	}
	return t, f.checkFree(f.heads[0], t)
}

// checkFree returns an error if pages are both in use and in the free list: bbolt would
// overwrite them.
func (f *File) checkFree(r Root, t *Tree) error {
	b := f.at(r.free)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("the list of free pages is damaged: "+format, args...)
	}
	if r.free < 2 || len(b) < headerSize || order.Uint64(b) != r.free || order.Uint16(b[8:]) != freelistPage {
		return wrong("page %d is none", r.free)
	}
	count, list := uint64(order.Uint16(b[10:])), b[headerSize:]
	span := uint64(order.Uint32(b[12:])) + 1
	if span > uint64(len(b))/f.pageSize {
		return wrong("it has %d pages", span)
	}
	if list = list[:span*f.pageSize-headerSize]; count == 0xFFFF {
		count, list = order.Uint64(list), list[8:]
	}
	if count > uint64(len(list))/8 {
		return wrong("it has %d entries", count)
	}
	if !t.use(r.free, span) {
		return wrong("it lies where other pages are")
	}
	before := uint64(1)
	for i := range count {
		id := order.Uint64(list[8*i:])
		if id <= before || id >= r.pages || !t.use(id, 1) {
			return wrong("it has page %d", id)
		}
		before = id
	}
	return nil
}
