package farm

// AlignZones returns AlignRecords of the records of two zones. It does not unpack shared
// runs, so its cost depends only on the difference.
func AlignZones(old, now *Zone) (runs []RecordRun) {
	if len(old.Packed) == 0 && len(now.Packed) == 0 {
		return AlignRecords(old.Records, now.Records)
	}
	i, j := 0, 0      // the runs at the start of the next difference
	oldAt, at := 0, 0 // their first records
	differ := func(toOld, toNow int) {
		a, b := old.pages(&i, toOld), now.pages(&j, toNow)
		for _, run := range alignRecords(a, b) {
			runs = appendRun(runs, RecordRun{oldAt + run.Old, at + run.New, run.Length})
		}
		oldAt, at = oldAt+a.n, at+b.n
	}
	for k, m := range SameRuns(old.Packed, now.Packed) {
		if m < i {
			continue
		}
		differ(m, k)
		n := now.factsAt(k).count
		runs = appendRun(runs, RecordRun{oldAt, at, n})
		oldAt, at, i, j = oldAt+n, at+n, i+1, j+1
	}
	differ(len(old.Packed)+1, len(now.Packed)+1) // including the unpacked records
	return runs
}

// appendRun appends a run, or extends the last one.
func appendRun(runs []RecordRun, run RecordRun) []RecordRun {
	if n := len(runs) - 1; n >= 0 && runs[n].Old+runs[n].Length == run.Old && runs[n].New+runs[n].Length == run.New {
		runs[n].Length += run.Length
		return runs
	}
	return append(runs, run)
}

// pages returns the records of the runs *from … to-1 and sets *from to to. The run after the
// last packed one is the list of unpacked records.
func (z *Zone) pages(from *int, to int) *recordPages {
	p := &recordPages{}
	for ; *from < to; *from++ {
		if *from < len(z.Packed) {
			p.add(page{z.Packed[*from], nil}, z.factsAt(*from).count)
		} else {
			p.add(page{"", z.Records}, len(z.Records))
		}
	}
	return p
}

// recordPages reads records from packed runs, one run at a time. Neighbours are read fast.
type recordPages struct {
	pages  []page
	starts []int // positions of their first records
	n      int   // number of records

	at   int // the page that list has
	from int
	list []Record
	own  []Record // memory for list
}

// page is a packed run, or a list of records.
type page struct {
	run  string
	list []Record
}

func (p *recordPages) add(one page, n int) {
	if n == 0 {
		return
	}
	p.pages, p.starts = append(p.pages, one), append(p.starts, p.n)
	p.n += n
}

// record returns the record at a position, valid until the next call.
func (p *recordPages) record(i int) *Record {
	if k := i - p.from; k >= 0 && k < len(p.list) {
		return &p.list[k]
	}
	p.turn(i)
	return &p.list[i-p.from]
}

// turn reads the page with the record at a position, normally a neighbour of the last page.
func (p *recordPages) turn(i int) {
	for p.starts[p.at] > i {
		p.at--
	}
	for p.at+1 < len(p.starts) && p.starts[p.at+1] <= i {
		p.at++
	}
	p.from, p.list = p.starts[p.at], p.pages[p.at].list
	if p.list == nil {
		p.own, _ = Unpack(p.own[:0], p.pages[p.at].run)
		p.list = p.own
	}
}

// SameRuns returns for each run of now the position of the same one in old, or -1. Runs
// that share memory are compared without reading them.
func SameRuns(old, now []string) []int {
	at := make([]int, len(now))
	begin, end := 0, 0
	for begin < min(len(old), len(now)) && old[begin] == now[begin] {
		at[begin] = begin
		begin++
	}
	for end < min(len(old), len(now))-begin && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
		at[len(now)-end] = len(old) - end
	}
	var known map[string]int // by text, for the few remaining runs
	for k := begin; k < len(now)-end; k++ {
		if known == nil {
			known = make(map[string]int, len(old)-begin-end)
			for i := len(old) - end - 1; i >= begin; i-- {
				known[old[i]] = i
			}
		}
		at[k] = -1
		if i, is := known[now[k]]; is {
			at[k] = i
		}
	}
	return at
}
