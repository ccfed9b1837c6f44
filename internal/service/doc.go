// Package service holds the use cases: each gathers what it needs from the primary store, lets a pure package decide, and
// stores or renders the outcome. There is a type for each feature, made by a constructor of its own; it knows neither gRPC nor a
// driver.
package service
