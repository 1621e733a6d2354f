package rbac

import (
	"encoding/json"
	"fmt"
)

// Kept works on books as keepers have them, for who restores one: nobody uses it yet.

// OnlyRoot is what is left of a kept book when everybody but root is gone, with root's
// rights and key.
func OnlyRoot(kept []byte) ([]byte, error) {
	s, err := readKept(kept)
	if err != nil {
		return nil, err
	}
	only := fresh()
	only.Root = s.Root
	return json.Marshal(only)
}

// Renumbered is a kept book whose groups have other numbers of the same farms; those that
// have none are taken out.
func Renumbered(kept []byte, number func(farm uint32) (uint32, bool)) ([]byte, error) {
	s, err := readKept(kept)
	if err != nil {
		return nil, err
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		var farms []uint32
		for _, old := range g.Farms {
			if id, known := number(old); known {
				farms = append(farms, id)
			}
		}
		g.Farms = farms
	}
	return json.Marshal(s)
}

func readKept(kept []byte) (*state, error) {
	s := fresh()
	if err := json.Unmarshal(kept, s); err != nil {
		return nil, fmt.Errorf("read users, groups and roles: %w", err)
	}
	return s, nil
}
