package farm

// What the API calls a backend: a number that stays with the backend for as long
// as it exists, and that no other backend of its group gets, ever: who wrote it
// down and comes back later does not hit another one. The first is 0. (The
// contract has positions in services, and the next free number in l4xnat farms:
// a delete gave a number to another backend there.) Seats hold these numbers.

// Number is what the backend at that position is called. While two have the same
// seat, Numbers tells.
func (g Group) Number(position int) int {
	list := g.Backends()
	switch {
	case position >= len(list):
		return position
	case list[position].Seat != 0:
		return int(list[position].Seat) - 1
	}
	return g.Numbers()[position]
}

// Position is where the backend of that number is, -1 when there is none.
func (g Group) Position(number int) int {
	seats, _ := g.seats()
	for i, seat := range seats {
		if int(seat)-1 == number {
			return i
		}
	}
	return -1
}

// Numbers is what each backend is called, by position.
func (g Group) Numbers() []int {
	seats, _ := g.seats()
	out := make([]int, len(seats))
	for i, seat := range seats {
		out[i] = int(seat) - 1
	}
	return out
}

// GiveNumbers gives the backends that have no number the next ones; of two that
// have the same, the second counts as having none.
func (g Group) GiveNumbers() {
	list := g.Backends()
	if list == nil {
		return
	}
	seats, last := g.seats()
	for i, seat := range seats {
		list[i].Seat = seat
	}
	*g.LastSeatAt() = last
}

// seats are those the backends have or would be given, and the last one that was
// given to any.
func (g Group) seats() (seats []uint32, last uint32) {
	list := g.Backends()
	if list == nil {
		return nil, 0
	}
	seats, last = make([]uint32, len(list)), *g.LastSeatAt()
	taken := make(map[uint32]bool, len(list))
	for i := range list {
		if seat := list[i].Seat; seat != 0 && !taken[seat] {
			seats[i], taken[seat], last = seat, true, max(last, seat)
		}
	}
	for i := range seats {
		if seats[i] == 0 {
			last++
			seats[i] = last
		}
	}
	return seats, last
}

// LastSeatAt is where the group keeps the last seat it gave.
func (g Group) LastSeatAt() *uint32 { return g.of.lastSeat() }

// Add puts a new backend at the end of the list and tells where that is.
func (g Group) Add(b Backend) (position int) {
	g.GiveNumbers()
	b.Seat = 0
	list := append(g.Backends(), b)
	at := len(list) - 1
	for ; at > 0 && list[at-1].Of != 0; at-- {
		list[at-1], list[at] = list[at], list[at-1] // those made of names come last
	}
	g.SetBackends(list)
	g.GiveNumbers()
	return at
}
