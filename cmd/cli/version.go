package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func (c *client) versionCommand() *cobra.Command {
	var licences bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version of this program and of a running appliance",
		Example: "  sluice version\n  sluice version --licences", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if licences {
				_, err := io.WriteString(cmd.OutOrStdout(), sluice.Licences+sluice.GUILicences)
				return err
			}
			running := c.runningVersion(cmd)
			if c.json {
				raw, err := json.MarshalIndent(map[string]any{"version": Version, "running": running}, "", "  ")
				if err != nil {
					return err
				}
				return c.printJSON(cmd, answer{raw: append(raw, '\n')})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "sluice %s\n", Version)
			if running != nil && *running != Version {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "running: %s\n", show.Clean(*running))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&licences, "licences", false, "print the licence texts of the libraries in this program")
	return cmd
}

// runningVersion returns the version of the appliance, or nil without one.
func (c *client) runningVersion(cmd *cobra.Command) *string {
	var body struct {
		Params struct {
			Version string `json:"sluice_version"`
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	a, err := c.get(ctx, "/system/version")
	if err != nil || a.into(&body) != nil {
		return nil
	}
	return &body.Params.Version
}
