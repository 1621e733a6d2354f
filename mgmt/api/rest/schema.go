package rest

import "github.com/danielgtaylor/huma/v2"

// OpenAPI is the OpenAPI document.
type OpenAPI = huma.OpenAPI

// Schema and Registry are for responses that describe themselves. A type with the method
// Schema(Registry) *Schema appears in the document as the result of that method.
type (
	Schema   = huma.Schema
	Registry = huma.Registry
)

// TypeNumber is the type of numbers in a Schema.
const TypeNumber = huma.TypeNumber
