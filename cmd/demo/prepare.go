package demo

import (
	"context"
	"fmt"
	"net/http"
)

// prepare makes the demonstration the configuration. In a directory of its own
// all of it is replaced; elsewhere no farm of somebody is.
func prepare(ctx context.Context, c *client, own bool, port int, backends []backend) error {
	var present []struct {
		Name string `json:"farmname"`
	}
	if err := c.call(ctx, http.MethodGet, pathOf("farms"), nil, &present); err != nil {
		return err
	}
	for _, f := range present {
		if f.Name != farmName && !own {
			return fmt.Errorf("the data directory has a farm %q, which the demonstration would replace: choose another --data", f.Name)
		}
	}
	// Without what an earlier start left the numbers of the backends begin at 0.
	if err := c.call(ctx, http.MethodPut, pathOf("config"), map[string]any{"farms": []any{}}, nil); err != nil {
		return err
	}
	servers := []map[string]any{}
	for _, b := range backends {
		servers = append(servers, map[string]any{"ip": b.addr.Addr().String(), "port": int(b.addr.Port()), "alias": b.name})
	}
	return c.call(ctx, http.MethodPut, pathOf("config"), map[string]any{"farms": []any{map[string]any{
		"name": farmName, "profile": "http", "vip": "127.0.0.1", "vport": port,
		"services": []any{map[string]any{"name": serviceName, "backends": servers}},
	}}}, nil)
}
