package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// farmView and backendView are the parts of the API's answers that matter here.
type farmView struct {
	VIP     string `json:"vip"`
	VPort   int    `json:"vport"`
	Problem string `json:"problem"`
}

type backendView struct {
	ID    int    `json:"id"`
	Port  int    `json:"port"`
	Alias string `json:"alias"`
}

// prepare makes the farm, or brings the one of an earlier start up to date,
// and returns its address.
func prepare(ctx context.Context, c *client, backends []backend) (string, error) {
	var f farmView
	err := c.call(ctx, http.MethodGet, pathOf("farms", farmName), nil, &f)
	switch {
	case errors.Is(err, errAbsent):
		f, err = create(ctx, c, backends)
	case err == nil:
		f, err = renew(ctx, c, f, backends)
	}
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(f.VIP, strconv.Itoa(f.VPort)), nil
}

func create(ctx context.Context, c *client, backends []backend) (farmView, error) {
	port, err := freePort(farmPort)
	if err != nil {
		return farmView{}, err
	}
	f := farmView{VIP: "127.0.0.1", VPort: port}
	for _, step := range []struct {
		path string
		body map[string]any
	}{
		{pathOf("farms"), map[string]any{"farmname": farmName, "profile": "http", "vip": f.VIP, "vport": port}},
		{pathOf("farms", farmName, "services"), map[string]any{"id": serviceName}},
	} {
		if err := c.call(ctx, http.MethodPost, step.path, step.body, nil); err != nil {
			return farmView{}, err
		}
	}
	for _, b := range backends {
		if err := add(ctx, c, b); err != nil {
			return farmView{}, err
		}
	}
	return f, nil
}

func add(ctx context.Context, c *client, b backend) error {
	return c.call(ctx, http.MethodPost, pathOf("farms", farmName, "services", serviceName, "backends"),
		map[string]any{"ip": b.addr.Addr().String(), "port": int(b.addr.Port()), "alias": b.name}, nil)
}

// renew gives the farm the ports of this start. What the user made of the
// demonstration stays: a backend that was deleted does not come back.
func renew(ctx context.Context, c *client, f farmView, backends []backend) (farmView, error) {
	if f.Problem != "" {
		port, err := freePort(f.VPort)
		if err != nil {
			return f, err
		}
		if port != f.VPort {
			if err := c.call(ctx, http.MethodPut, pathOf("farms", farmName), map[string]any{"vport": port}, nil); err != nil {
				return f, fmt.Errorf("moving the farm from port %d to %d: %w", f.VPort, port, err)
			}
			f.VPort = port
		}
	}
	path := pathOf("farms", farmName, "services", serviceName, "backends")
	var present []backendView
	err := c.call(ctx, http.MethodGet, path, nil, &present)
	if errors.Is(err, errAbsent) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	for _, p := range present {
		for _, b := range backends {
			if p.Alias != b.name || p.Port == int(b.addr.Port()) {
				continue
			}
			body := map[string]any{"port": int(b.addr.Port())}
			if err := c.call(ctx, http.MethodPut, path+"/"+strconv.Itoa(p.ID), body, nil); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}
