package ctl

import (
	"context"
	"os"
)

// OpInputDropped asks which listeners firewalls of others keep clients from.
const OpInputDropped Op = "input-dropped"

// FarmKeys are keys of listeners (see KeyOf) of farms, by ID.
type FarmKeys map[uint32][]string

// maxFarmKeys bounds the keys of one question in bytes: maxKeys take 450 KiB.
const maxFarmKeys = 4 << 20

// InputDropped tells which of the farms get no new clients from other machines
// at some of their listeners, because a firewall surely drops them; sentences,
// by ID. The question travels in sealed memory.
func (c *Client) InputDropped(ctx context.Context, farms FarmKeys) (dropped map[uint32][]string, err error) {
	err = c.askSealed(ctx, OpInputDropped, "sluice-listeners", farms, &dropped)
	return dropped, err
}

// OpenFarmKeys reads what InputDropped sent.
func OpenFarmKeys(files []*os.File) (farms FarmKeys, err error) {
	err = openSealed(files, "listeners", maxFarmKeys, &farms)
	return farms, err
}
