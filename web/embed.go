// Package web embeds the built administration GUI: `make build` compiles the TypeScript
// sources in src to dist.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files contains the built pages: index.html and its assets. Without a build it is empty
// except for a placeholder file.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return files
}
