package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// guest is who signs in to the GUI of the demonstration: with a password that holds
// until the next start, as an administrator of its farm.
type guest struct{ name, password string }

const guestName = "demo"

// invite makes the guest anew. Elsewhere than in a directory of its own, a user or group
// of that name that no earlier demonstration left is somebody's, and is not replaced.
func invite(ctx context.Context, c *client, own bool) (guest, error) {
	g := guest{guestName, newPassword()}
	if !own {
		if err := ours(ctx, c); err != nil {
			return guest{}, err
		}
	}
	// What an earlier start left goes first; a first start has nothing to delete.
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

// ours refuses users and groups of the guest's name that are not as invite leaves them:
// both there, he alone in the group, and its only farm that of the demonstration.
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

// newPassword is short enough to be typed, and longer than anybody guesses: twelve
// letters and digits of an alphabet of 32.
func newPassword() string {
	text := strings.ToLower(rand.Text())
	return text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-1" // a digit is wanted
}
