package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// guest is the GUI user of the demonstration, an administrator of its farm. The password
// is valid until the next start.
type guest struct{ name, password string }

const guestName = "demo"

// invite replaces the guest. In a data directory that is not its own, it refuses to
// replace a user or group that an earlier demonstration did not make.
func invite(ctx context.Context, c *client, own bool) (guest, error) {
	g := guest{guestName, newPassword()}
	if !own {
		if err := ours(ctx, c); err != nil {
			return guest{}, err
		}
	}
	// Leftovers of an earlier start are deleted first; at the first start there are none.
	_ = c.call(ctx, http.MethodDelete, pathOf("rbac", "groups", g.name), nil, nil)
	_ = c.call(ctx, http.MethodDelete, pathOf("rbac", "users", g.name), nil, nil)
	for _, step := range []struct {
		method, path string
		body         map[string]any
	}{
		{http.MethodPost, pathOf("rbac", "users"), map[string]any{"name": g.name, "password": g.password}},
		{http.MethodPut, pathOf("rbac", "users", g.name), map[string]any{"webgui_permissions": "true"}},
		{http.MethodPost, pathOf("rbac", "groups"), map[string]any{"name": g.name}},
		{http.MethodPut, pathOf("rbac", "groups", g.name), map[string]any{"role": "administration"}},
		{http.MethodPost, pathOf("rbac", "groups", g.name, "users"), map[string]any{"name": g.name}},
		{http.MethodPost, pathOf("rbac", "groups", g.name, "farms"), map[string]any{"name": farmName}},
	} {
		if err := c.call(ctx, step.method, step.path, step.body, nil); err != nil {
			return guest{}, err
		}
	}
	return g, nil
}

// ours returns an error if a user or group has the guest's name and invite did not make
// it. Both must exist, with the guest as only member, and at most one farm.
func ours(ctx context.Context, c *client) error {
	var users []struct{ Name string }
	var groups []struct {
		Name      string
		Users     []string
		Resources struct{ Farms []string }
	}
	if err := c.call(ctx, http.MethodGet, pathOf("rbac", "users"), nil, &users); err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodGet, pathOf("rbac", "groups"), nil, &groups); err != nil {
		return err
	}
	user, group, left := false, false, false
	for _, u := range users {
		user = user || u.Name == guestName
	}
	for _, g := range groups {
		if g.Name == guestName {
			group, left = true, slices.Equal(g.Users, []string{guestName}) && len(g.Resources.Farms) <= 1
		}
	}
	if (user || group) && !(user && left) {
		return fmt.Errorf("the data directory has a user or group %q, which the demonstration would replace: choose another --data", guestName)
	}
	return nil
}

// newPassword returns a password that is easy to type and hard to guess: twelve
// characters of an alphabet of 32.
func newPassword() string {
	text := strings.ToLower(rand.Text())
	return text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-1" // passwords need a digit
}
