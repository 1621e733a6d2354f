package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// The kinds of arguments that name something the appliance has.
type argument int

const (
	aFarm argument = iota
	aService
	aBackend
	aWord // which nobody can guess
)

// completionTime bounds what a completion may wait for the appliance.
const completionTime = 2 * time.Second

// completer completes arguments that name objects, then settings. Without an
// appliance it offers nothing.
func (c *client) completer(kinds []argument, s *settings) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(kinds) {
			if s != nil {
				return s.complete(toComplete)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		return c.namesOf(ctx, kinds[len(args)], args), cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *client) namesOf(ctx context.Context, kind argument, args []string) []string {
	if kind == aFarm {
		return c.farmNames(ctx)
	}
	farm, err := c.summary(ctx, args[0])
	if err != nil {
		return nil
	}
	return farm.names()
}

func (c *client) farmNames(ctx context.Context) []string {
	var body struct {
		Params []struct{ FarmName string }
	}
	if a, err := c.get(ctx, "/farms"); err != nil || a.into(&body) != nil {
		return nil
	}
	var out []string
	for _, f := range body.Params {
		out = append(out, f.FarmName)
	}
	return out
}

func (c *client) backendIDs(ctx context.Context, o owner) []string {
	list, _, err := c.backends(ctx, o)
	if err != nil {
		return nil
	}
	var out []string
	for _, b := range list {
		out = append(out, fmt.Sprintf("%d\t%s", b.ID, b.address()))
	}
	return out
}
