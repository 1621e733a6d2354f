package farm

import "slices"

// Equal reports whether all fields of two backends are equal, like reflect.DeepEqual but a
// hundred times faster: every change compares all backends.
func (b *Backend) Equal(o *Backend) bool {
	return b.ID == o.ID && b.Slot == o.Slot && b.Host == o.Host && b.Addr == o.Addr &&
		b.Resolve == o.Resolve && b.Of == o.Of && b.Left == o.Left &&
		b.Port == o.Port && b.Weight == o.Weight && b.Priority == o.Priority && b.ConnLimit == o.ConnLimit &&
		b.Timeout == o.Timeout && b.ConnectTimeout == o.ConnectTimeout && b.Source == o.Source && b.Mark == o.Mark &&
		b.Alias == o.Alias && b.Maintenance == o.Maintenance &&
		same(b.Sessions, o.Sessions) && same(b.ServerNames, o.ServerNames) && same(b.Nets, o.Nets) &&
		same(b.Countries, o.Countries) && same(b.Continents, o.Continents) && b.Coordinates == o.Coordinates && b.HashKey == o.HashKey
}

func same[T comparable](a, b []T) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }
