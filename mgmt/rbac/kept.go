package rbac

import (
	"encoding/json"
	"fmt"
)

// The functions in this file transform stored books before they are restored.

// OnlyRoot returns a stored book with root as its only user, with root's rights and key.
func OnlyRoot(kept []byte) ([]byte, error) {
	s, err := readKept(kept)
	if err != nil {
		return nil, err
	}
	only := fresh()
	only.Root = s.Root
	return json.Marshal(only)
}

// Renumbered returns a stored book whose groups have new numbers for the same farms. Farms
// without a new number are removed.
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
