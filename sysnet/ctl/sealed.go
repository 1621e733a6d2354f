package ctl

import (
	"context"
	"encoding/json"
	"os"

	"github.com/sluicelb/sluice/core/shm"
)

// askSealed is Ask for bodies that do not fit into a request; they travel in sealed
// memory.
func (c *Client) askSealed(ctx context.Context, op Op, name string, body, reply any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	f, err := shm.Sealed(name, b)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.Ask(ctx, op, struct{}{}, reply, f)
}

// openSealed decodes the attachment of askSealed, of at most most bytes.
func openSealed(files []*os.File, what string, most int, into any) error {
	if len(files) != 1 {
		return rejection(CodeInvalid, "%s in sealed memory are expected, and nothing else", what)
	}
	m, err := shm.MapSealed(files[0])
	if err != nil {
		return rejection(CodeInvalid, "%s: %v", what, err)
	}
	defer m.Close()
	if n := len(m.Bytes()); n > most {
		return rejection(CodeInvalid, "%s of %d bytes: at most %d are allowed", what, n, most)
	}
	return Strict(m.Bytes(), into)
}
