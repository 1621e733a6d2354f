package farm

// What the API calls a backend: in a service the position, in an l4xnat farm a
// number that stays with the backend for as long as it exists (contract, backends
// of l4xnat farms: the next free number from 0). Seats hold these numbers.

// Number is what the backend at that position is called. While two have the same
// seat, Numbers tells.
func (g Group) Number(position int) int {
	list := g.Backends()
	switch {
	case g.Service != nil, position >= len(list):
		return position
	case list[position].Seat != 0:
		return int(list[position].Seat) - 1
	}
	return int(seats(list)[position]) - 1
}

// Position is where the backend of that number is, -1 when there is none.
func (g Group) Position(number int) int {
	list := g.Backends()
	if number < 0 {
		return -1
	}
	if g.Service != nil {
		if number < len(list) {
			return number
		}
		return -1
	}
	for i, seat := range seats(list) {
		if int(seat)-1 == number {
			return i
		}
	}
	return -1
}

// Numbers is what each backend is called, by position.
func (g Group) Numbers() []int {
	list := g.Backends()
	out := make([]int, len(list))
	if g.Service != nil {
		for i := range out {
			out[i] = i
		}
		return out
	}
	for i, seat := range seats(list) {
		out[i] = int(seat) - 1
	}
	return out
}

// GiveNumbers gives the backends of an l4xnat farm that have no number the next
// free ones; of two that have the same, the second counts as having none.
func (g Group) GiveNumbers() {
	if g.Service != nil {
		return
	}
	list := g.Backends()
	for i, seat := range seats(list) {
		list[i].Seat = seat
	}
}

// seats are those the backends of an l4xnat farm have or would be given.
func seats(list []Backend) []uint32 {
	out := make([]uint32, len(list))
	taken := make(map[uint32]bool, len(list))
	for i := range list {
		if seat := list[i].Seat; seat != 0 && !taken[seat] {
			out[i], taken[seat] = seat, true
		}
	}
	next := uint32(1)
	for i := range out {
		if out[i] != 0 {
			continue
		}
		for taken[next] {
			next++
		}
		out[i], taken[next] = next, true
	}
	return out
}

// Add puts a new backend where the list stays in the order of numbers, and
// tells where that is.
func (g Group) Add(b Backend) (position int) {
	g.GiveNumbers()
	b.Seat = 0
	list := append(g.Backends(), b)
	at := len(list) - 1
	if g.Service == nil {
		list[at].Seat = seats(list)[at]
		for ; at > 0 && list[at-1].Seat > list[at].Seat; at-- {
			list[at-1], list[at] = list[at], list[at-1]
		}
	}
	g.SetBackends(list)
	return at
}
