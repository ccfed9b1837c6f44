module github.com/stratamem/strata/tools/gen

go 1.26.7

tool (
	github.com/sudorandom/protoc-gen-connect-openapi
	google.golang.org/grpc/cmd/protoc-gen-go-grpc
	google.golang.org/protobuf/cmd/protoc-gen-go
)

require gopkg.in/yaml.v3 v3.0.1

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.6-20250425153114-8976f5be98c1.1 // indirect
	buf.build/go/protovalidate v0.12.0 // indirect
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/buger/jsonparser v1.1.1 // indirect
	github.com/google/gnostic v0.7.0 // indirect
	github.com/google/gnostic-models v0.6.9 // indirect
	github.com/lmittmann/tint v1.0.7 // indirect
	github.com/mailru/easyjson v0.9.0 // indirect
	github.com/pb33f/libopenapi v0.21.10 // indirect
	github.com/speakeasy-api/jsonpath v0.6.1 // indirect
	github.com/sudorandom/protoc-gen-connect-openapi v0.18.0 // indirect
	github.com/wk8/go-ordered-map/v2 v2.1.9-0.20240815153524-6ea36470d1bd // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20250505200425-f936aa4a68b2 // indirect
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
