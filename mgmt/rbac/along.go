package rbac

import "slices"

// StoredBy returns a copy of this book that shares its state. write stores its changes, under the
// name of the document, e.g. together with other data.
func (b *Book) StoredBy(write func(name string, value any) error) *Book {
	of := *b
	of.keeper = elsewhere(write)
	return &of
}

// elsewhere is a Keeper that only writes.
type elsewhere func(name string, value any) error

func (e elsewhere) ReadDocument(string, any) (bool, error)     { return false, nil }
func (e elsewhere) WriteDocument(name string, value any) error { return e(name, value) }

// AddFarms is AddFarm for several farms at once. Farms that the group has already are skipped.
func (b *Book) AddFarms(group string, farms []uint32) error {
	return b.changeGroup(group, func(_ *state, g *Group) error {
		for _, id := range farms {
			if !slices.Contains(g.Farms, id) {
				g.Farms = append(g.Farms, id)
			}
		}
		return nil
	})
}
