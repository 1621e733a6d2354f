package ctl

import (
	"context"
	"os"
)

// OpInputDropped finds listeners whose clients a foreign firewall drops.
const OpInputDropped Op = "input-dropped"

// FarmKeys maps the ID of a farm to the keys of its listeners (see KeyOf).
type FarmKeys map[uint32][]string

// maxFarmKeys bounds a FarmKeys body in bytes; maxKeys keys take 450 KiB.
const maxFarmKeys = 4 << 20

// InputDropped returns the farms that get no new clients from other machines at some
// listener because a firewall certainly drops them. The values are sentences, by ID of
// the farm. The request body travels in sealed memory.
func (c *Client) InputDropped(ctx context.Context, farms FarmKeys) (dropped map[uint32][]string, err error) {
	err = c.askSealed(ctx, OpInputDropped, "sluice-listeners", farms, &dropped)
	return dropped, err
}

// OpenFarmKeys decodes the attachment of InputDropped.
func OpenFarmKeys(files []*os.File) (farms FarmKeys, err error) {
	err = openSealed(files, "listeners", maxFarmKeys, &farms)
	return farms, err
}
