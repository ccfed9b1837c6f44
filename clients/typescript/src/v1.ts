// Everything of the contract: messages, enums and services of proto/memory/v1.
export * from "./gen/memory/v1/access_service_pb.js";
export * from "./gen/memory/v1/audit_service_pb.js";
export * from "./gen/memory/v1/check_pb.js";
export * from "./gen/memory/v1/context_pb.js";
export * from "./gen/memory/v1/document_service_pb.js";
export * from "./gen/memory/v1/error_pb.js";
export * from "./gen/memory/v1/fact_pb.js";
export * from "./gen/memory/v1/fact_service_pb.js";
export * from "./gen/memory/v1/history_service_pb.js";
export * from "./gen/memory/v1/maintenance_service_pb.js";
export * from "./gen/memory/v1/memory_service_pb.js";
export * from "./gen/memory/v1/message_pb.js";
export * from "./gen/memory/v1/policy_pb.js";
export * from "./gen/memory/v1/session_pb.js";
export * from "./gen/memory/v1/summary_service_pb.js";
export * from "./gen/memory/v1/user_service_pb.js";
export * from "./gen/memory/v1/work_service_pb.js";
